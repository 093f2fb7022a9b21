# misconception: none
import torch


def one_hot_positions(T):
    return torch.zeros(T, T)


def sine_positions(T, d):
    return torch.zeros(T, d)
