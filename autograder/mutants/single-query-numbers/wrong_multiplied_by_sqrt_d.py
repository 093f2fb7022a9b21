# misconception: multiplied-by-sqrt-d
scores = [7.794, 0.0, 7.794, 0.0]
probabilities = [0.5, 0.0, 0.5, 0.0]
output = [-1.749, 0.999, 0.0]
