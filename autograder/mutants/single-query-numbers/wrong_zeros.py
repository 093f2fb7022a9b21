# misconception: none
scores = [0.0, 0.0, 0.0, 0.0]
probabilities = [0.0, 0.0, 0.0, 0.0]
output = [0.0, 0.0, 0.0]
