# misconception: none
scores = [2.598, 0.0, 2.598, 0.0]
probabilities = [0.465, 0.035, 0.465, 0.035]
output = [-0.96, 0.517, 0.02]
