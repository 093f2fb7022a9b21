# misconception: none
import torch


def one_hot_positions(T):
    return torch.nn.Embedding(T, T)(torch.arange(T))
