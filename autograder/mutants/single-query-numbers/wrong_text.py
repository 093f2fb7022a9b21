# misconception: none
scores = "2.598, 0, 2.598, 0"
probabilities = "later"
output = None
