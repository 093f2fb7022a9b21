# misconception: no-sum
scores = [2.598, 0.0, 2.598, 0.0]
probabilities = [13.438, 1.0, 13.438, 1.0]
output = [-48.033, 25.876, 1.0]
