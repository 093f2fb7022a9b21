# misconception: scores-for-context
import torch


def attend(query, states):
    scores = (states @ query[:, :, None]).squeeze(-1)
    weights = torch.softmax(scores, dim=-1)
    context = (scores[:, :, None] * states).sum(dim=1)
    return context, weights
