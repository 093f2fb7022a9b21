# misconception: none
scores = [2.6, 0.0, 2.6, 0.0]
probabilities = [46.5, 3.5, 46.5, 3.5]
output = [-1.7, 0.9, 0.0]
