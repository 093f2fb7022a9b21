# misconception: none
raw_scores = [0.0, 0.0, 0.0]
argmax_output = [0.0, 0.0]
