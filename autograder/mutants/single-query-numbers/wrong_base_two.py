# misconception: none
scores = [2.598, 0.0, 2.598, 0.0]
probabilities = [0.429, 0.071, 0.429, 0.071]
output = [-1.573, 0.787, 0.071]
