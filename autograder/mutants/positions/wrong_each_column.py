# misconception: each-column-its-own-rate
import torch


def one_hot_positions(T):
    return torch.eye(T)


def sine_positions(T, d):
    t = torch.arange(T)[:, None]
    j = torch.arange(d)[None, :]
    angle = t / 10_000 ** (j / d)
    return torch.where(j % 2 == 0, torch.sin(angle), torch.cos(angle))
