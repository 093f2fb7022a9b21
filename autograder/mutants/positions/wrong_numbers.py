# misconception: none
import torch


def one_hot_positions(T):
    return torch.arange(T)
