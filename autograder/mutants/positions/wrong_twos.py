# misconception: none
import torch


def one_hot_positions(T):
    return 2 * torch.eye(T)
