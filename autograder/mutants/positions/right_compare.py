import torch


def one_hot_positions(T):
    t = torch.arange(T)
    return (t[:, None] == t[None, :]).float()
