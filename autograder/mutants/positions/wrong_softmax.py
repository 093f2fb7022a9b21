# misconception: none
import torch


def one_hot_positions(T):
    return torch.softmax(torch.eye(T), dim=-1)
