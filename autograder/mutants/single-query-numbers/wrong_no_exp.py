# misconception: no-exp
scores = [2.598, 0.0, 2.598, 0.0]
probabilities = [0.5, 0.0, 0.5, 0.0]
output = [-1.75, 1.0, 0.0]
