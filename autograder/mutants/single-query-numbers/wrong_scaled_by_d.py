# misconception: scaled-by-d
scores = [1.5, 0.0, 1.5, 0.0]
probabilities = [0.409, 0.091, 0.409, 0.091]
output = [-1.522, 0.726, 0.091]
