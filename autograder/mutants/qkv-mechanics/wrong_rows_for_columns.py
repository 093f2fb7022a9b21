# misconception: rows-for-columns
raw_scores = [195.0, 288.0, 306.0]
argmax_output = [29.0, 16.0]
