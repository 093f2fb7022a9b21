# misconception: thermometer
import torch


def one_hot_positions(T):
    return torch.tril(torch.ones(T, T))
