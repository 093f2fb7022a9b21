# misconception: none
import torch


def attend(query, states):
    return torch.zeros_like(query), torch.zeros(states.shape[:2])
