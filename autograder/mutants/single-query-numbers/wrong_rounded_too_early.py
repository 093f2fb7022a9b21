# misconception: rounded-too-early
scores = [2.6, 0.0, 2.6, 0.0]
probabilities = [0.465, 0.035, 0.465, 0.035]
output = [-1.6625, 0.895, 0.035]
