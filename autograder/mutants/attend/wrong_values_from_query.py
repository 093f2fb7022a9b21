# misconception: none
import torch


def attend(query, states):
    scores = (states @ query[:, :, None]).squeeze(-1)
    weights = torch.softmax(scores, dim=-1)
    context = weights.sum(-1, keepdim=True) * query
    return context, weights
