# misconception: sum-without-exp
import torch


def attend(query, states):
    scores = (states @ query[:, :, None]).squeeze(-1)
    weights = scores / scores.sum(-1, keepdim=True)
    context = (weights[:, :, None] * states).sum(dim=1)
    return context, weights
