# misconception: key-not-value
raw_scores = [1054.0, 852.0, -396.0]
argmax_output = [1.0, 30.0]
