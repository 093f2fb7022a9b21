# misconception: none
scores = [0.0, 2.598, 2.598, 0.0]
probabilities = [0.035, 0.465, 0.465, 0.035]
output = [-0.371, 1.111, -0.396]
