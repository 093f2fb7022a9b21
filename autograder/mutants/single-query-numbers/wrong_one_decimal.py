# misconception: none
scores = [2.6, 0.0, 2.6, 0.0]
probabilities = [0.5, 0.0, 0.5, 0.0]
output = [-1.7, 0.9, 0.0]
