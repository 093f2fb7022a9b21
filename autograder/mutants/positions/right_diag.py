import torch


def one_hot_positions(T):
    return torch.diag(torch.ones(T))
