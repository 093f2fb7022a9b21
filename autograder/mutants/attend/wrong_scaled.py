# misconception: scaled-by-sqrt-d
import torch


def attend(query, states):
    scores = (states @ query[:, :, None]).squeeze(-1)
    weights = torch.softmax(scores / states.shape[-1] ** 0.5, dim=-1)
    context = (weights[:, :, None] * states).sum(dim=1)
    return context, weights
