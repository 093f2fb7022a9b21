# misconception: query-three
raw_scores = [1498.0, 1194.0, -612.0]
argmax_output = [23.0, 46.0]
