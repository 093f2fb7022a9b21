import torch


def weighted_average(weights, values):
    shares = weights / torch.sum(weights)
    return (shares.unsqueeze(1) * values).sum(dim=0)
