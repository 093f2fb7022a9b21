# misconception: query-one
raw_scores = [575.0, 471.0, -198.0]
argmax_output = [23.0, 46.0]
