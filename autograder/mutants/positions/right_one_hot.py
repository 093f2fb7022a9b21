import torch


def one_hot_positions(T):
    return torch.nn.functional.one_hot(torch.arange(T))
