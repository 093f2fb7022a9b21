# misconception: argmax
scores = [2.598, 0.0, 2.598, 0.0]
probabilities = [1.0, 0.0, 0.0, 0.0]
output = [-2.0, 1.0, 0.5]
