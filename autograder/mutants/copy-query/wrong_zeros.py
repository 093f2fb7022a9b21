# misconception: all-alike
import torch


def copy_query(keys, j):
    return torch.zeros(keys.shape[1])
