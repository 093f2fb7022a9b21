"""The output as a column of a tensor."""

import torch

X = torch.tensor([[-2, 1, 0.5], [1, 1.5, -0.5], [-1.5, 1, -0.5], [-2, -2.5, 1.5]])
q = torch.tensor([[-2.0], [1.0], [-1.0]])
scores = X @ q / 3**0.5
probabilities = torch.softmax(scores, 0)
output = X.T @ probabilities
