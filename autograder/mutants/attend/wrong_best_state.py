# misconception: best-state-for-context
import torch


def attend(query, states):
    scores = (states @ query[:, :, None]).squeeze(-1)
    weights = torch.softmax(scores, dim=-1)
    best = weights.argmax(-1)
    context = states[torch.arange(len(states)), best]
    return context, weights
