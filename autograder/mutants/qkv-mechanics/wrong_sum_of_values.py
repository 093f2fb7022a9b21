# misconception: sum-of-values
raw_scores = [1054.0, 852.0, -396.0]
argmax_output = [58.0, 73.0]
