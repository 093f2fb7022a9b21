"""Rounded to the digits asked for."""

raw_scores = [1054.0, 852.0, -396.0]
argmax_output = [23.0, 46.0]
