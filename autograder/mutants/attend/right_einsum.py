import torch


def attend(query, states):
    weights = torch.einsum("bd,bsd->bs", query, states).softmax(-1)
    return torch.einsum("bs,bsd->bd", weights, states), weights
