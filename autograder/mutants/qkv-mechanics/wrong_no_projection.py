# misconception: no-projection
raw_scores = [23.0, 25.0, 10.0]
argmax_output = [23.0, 46.0]
