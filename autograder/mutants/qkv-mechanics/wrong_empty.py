# misconception: none
raw_scores = [..., ..., ...]
argmax_output = [..., ...]
