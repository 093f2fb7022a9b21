# misconception: exponent-doubled
import torch


def one_hot_positions(T):
    return torch.eye(T)


def sine_positions(T, d):
    t = torch.arange(T)[:, None]
    i = torch.arange(d // 2)[None, :]
    angle = t / 10_000 ** (4 * i / d)
    table = torch.zeros(T, d)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return table
