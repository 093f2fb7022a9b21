# misconception: none
import torch


def attend(query, states):
    scores = states[0] @ query[0]
    weights = torch.softmax(scores, -1).expand(states.shape[:2])
    context = (weights[:, :, None] * states).sum(dim=1)
    return context, weights
