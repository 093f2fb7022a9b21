# misconception: wrong-sign
scores = [-2.598, 0.0, -2.598, 0.0]
probabilities = [0.035, 0.465, 0.035, 0.465]
output = [-0.587, -0.396, 0.465]
