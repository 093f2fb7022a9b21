# misconception: least-score
raw_scores = [1054.0, 852.0, -396.0]
argmax_output = [10.0, -12.0]
