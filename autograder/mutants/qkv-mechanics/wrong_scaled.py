# misconception: scaled
raw_scores = [745.291, 602.455, -280.014]
argmax_output = [23.0, 46.0]
