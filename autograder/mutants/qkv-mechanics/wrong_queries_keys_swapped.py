# misconception: queries-keys-swapped
raw_scores = [471.0, 852.0, 1194.0]
argmax_output = [23.0, 46.0]
