# misconception: sigmoid
import torch


def attend(query, states):
    scores = (states @ query[:, :, None]).squeeze(-1)
    weights = torch.sigmoid(scores)
    context = (weights[:, :, None] * states).sum(dim=1)
    return context, weights
