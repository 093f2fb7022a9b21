# misconception: scores-as-weights
scores = [2.598, 0.0, 2.598, 0.0]
probabilities = [0.465, 0.035, 0.465, 0.035]
output = [-9.093, 5.196, 0.0]
