# more digits than asked for
scores = [2.5980762, 0.0, 2.5980762, 0.0]
probabilities = [0.4653688, 0.0346312, 0.4653688, 0.0346312]
output = [-1.6634221, 0.8961065, 0.0346312]
