# misconception: last-state-for-context
import torch


def attend(query, states):
    scores = (states @ query[:, :, None]).squeeze(-1)
    weights = torch.softmax(scores, dim=-1)
    context = states[:, -1]
    return context, weights
