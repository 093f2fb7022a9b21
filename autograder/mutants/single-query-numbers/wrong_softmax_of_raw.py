# misconception: softmax-of-raw
scores = [2.598, 0.0, 2.598, 0.0]
probabilities = [0.495, 0.005, 0.495, 0.005]
output = [-1.736, 0.984, 0.005]
