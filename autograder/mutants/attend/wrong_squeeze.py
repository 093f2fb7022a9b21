# misconception: batch-of-one-lost
import torch


def attend(query, states):
    scores = (states @ query[:, :, None]).squeeze()
    weights = torch.softmax(scores, dim=-1)
    context = (weights[..., None] * states).sum(dim=-2)
    return context, weights
