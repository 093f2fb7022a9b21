# misconception: scale-of-length
scores = [2.25, 0.0, 2.25, 0.0]
probabilities = [0.452, 0.048, 0.452, 0.048]
output = [-1.631, 0.857, 0.048]
