# misconception: none
scores = [3.0, 0.0, 3.0, 0.0]
probabilities = [0.0, 0.0, 0.0, 0.0]
output = [-2.0, 1.0, 0.0]
