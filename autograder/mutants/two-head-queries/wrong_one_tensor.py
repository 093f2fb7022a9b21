# misconception: one-tensor
import torch


def two_head_queries(directions, a, b):
    return 1000.0 * torch.stack([directions[a], directions[b]])
