import torch


def one_hot_positions(T):
    return torch.nn.functional.one_hot(torch.arange(T))


def sine_positions(T, d):
    t, i = torch.arange(T), torch.arange(d // 2)
    angle = torch.outer(t.float(), torch.exp(-torch.log(torch.tensor(10000.0)) * 2 * i / d).float())
    return torch.stack([angle.sin(), angle.cos()], dim=-1).reshape(T, d)
