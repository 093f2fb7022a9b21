import math

import torch


def add_block(largest, total, summed, query, keys, values):
    d = query.shape[1]
    scores = query @ keys.T / math.sqrt(d)
    best = scores.max(dim=1).values
    new = torch.maximum(largest, best)
    shrink = torch.exp(largest - new)
    of_total, of_sum = shrink, shrink
    powers = torch.exp(scores - new[:, None])
    shares = powers
    total = of_total * total + powers.sum(dim=1)
    summed = of_sum[:, None] * summed + shares @ values
    return new, total, summed
