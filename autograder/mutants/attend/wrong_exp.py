# misconception: exp-without-sum
import torch


def attend(query, states):
    scores = (states @ query[:, :, None]).squeeze(-1)
    weights = scores.exp()
    context = (weights[:, :, None] * states).sum(dim=1)
    return context, weights
