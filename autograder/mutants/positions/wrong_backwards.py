# misconception: one-hot-backwards
import torch


def one_hot_positions(T):
    return torch.eye(T).flip(0)
