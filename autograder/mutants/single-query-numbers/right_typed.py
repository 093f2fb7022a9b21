"""Rounded to the digits asked for."""

scores = [2.598, 0.0, 2.598, 0.0]
probabilities = [0.465, 0.035, 0.465, 0.035]
output = [-1.663, 0.896, 0.035]
