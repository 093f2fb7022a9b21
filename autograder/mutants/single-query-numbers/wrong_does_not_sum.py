# misconception: none
scores = [2.598, 0.0, 2.598, 0.0]
probabilities = [0.465, 0.017, 0.465, 0.024]
output = [-1.663, 0.896, 0.035]
