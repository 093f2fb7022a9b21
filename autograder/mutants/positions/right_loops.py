import torch


def one_hot_positions(T):
    table = torch.zeros(T, T)
    for t in range(T):
        table[t, t] = 1
    return table
