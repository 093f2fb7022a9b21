# misconception: mean-pooling
import torch


def attend(query, states):
    weights = torch.full(states.shape[:2], 1 / states.shape[1])
    context = (weights[:, :, None] * states).sum(dim=1)
    return context, weights
