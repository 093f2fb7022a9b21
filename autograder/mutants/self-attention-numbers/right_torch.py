"""Computed with PyTorch."""

import torch

X = torch.tensor([[-2, 1, 0.5], [1, 1.5, -0.5], [-1.5, 1, -0.5], [-2, -2.5, 1.5]])
Q = X @ torch.tensor([[1, -1.5], [0, 2], [-0.5, -1]])
K = X @ torch.tensor([[-1.5, -1], [2.5, 0], [0.5, -1]])
V = X @ torch.tensor([[1, 2.5], [-0.5, -2], [0, -1]])
P = torch.softmax(Q @ K.T / 2**0.5, dim=-1)
Z = P @ V
