# misconception: index-for-one
import torch


def one_hot_positions(T):
    return torch.diag(torch.arange(T).float())
