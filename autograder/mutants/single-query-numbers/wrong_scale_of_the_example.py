# misconception: scale-of-the-example
scores = [3.182, 0.0, 3.182, 0.0]
probabilities = [0.48, 0.02, 0.48, 0.02]
output = [-1.7, 0.94, 0.02]
