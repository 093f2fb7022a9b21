import torch


def swap_states(states, bottleneck):
    return torch.stack([states[b - 1] for b in range(len(states))]), bottleneck
