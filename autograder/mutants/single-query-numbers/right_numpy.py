"""Computed with NumPy."""

import numpy as np

X = np.array([[-2, 1, 0.5], [1, 1.5, -0.5], [-1.5, 1, -0.5], [-2, -2.5, 1.5]])
q = np.array([-2, 1, -1])
scores = X @ q / 3**0.5
probabilities = np.exp(scores) / np.exp(scores).sum()
output = probabilities @ X
