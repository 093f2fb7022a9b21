# misconception: none
import torch


def swap_states(states, bottleneck):
    return states[torch.randperm(len(states))], bottleneck
