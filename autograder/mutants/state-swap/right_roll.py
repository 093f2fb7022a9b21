import torch


def swap_states(states, bottleneck):
    return torch.roll(states, 1, dims=0), bottleneck
