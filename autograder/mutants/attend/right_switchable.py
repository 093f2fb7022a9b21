import torch


def attend(query, states):
    B, S, D = states.shape
    scores = torch.einsum("bd,bsd->bs", query, states)
    scores = scores / 1
    weights = torch.softmax(scores, dim=1)
    context = torch.einsum("bs,bsd->bd", weights, states)
    return context, weights
