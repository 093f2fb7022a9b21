# misconception: mean-of-values
raw_scores = [1054.0, 852.0, -396.0]
argmax_output = [19.333, 24.333]
