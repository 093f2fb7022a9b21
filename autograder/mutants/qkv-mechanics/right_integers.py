"""Whole numbers."""

raw_scores = [1054, 852, -396]
argmax_output = [23, 46]
