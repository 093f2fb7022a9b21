# misconception: context-keeps-an-axis
import torch


def attend(query, states):
    scores = (states @ query[:, :, None]).squeeze(-1)
    weights = torch.softmax(scores, dim=-1)
    context = weights[:, None] @ states
    return context, weights
