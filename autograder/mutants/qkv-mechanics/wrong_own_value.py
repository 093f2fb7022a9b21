# misconception: own-value
raw_scores = [1054.0, 852.0, -396.0]
argmax_output = [25.0, 39.0]
