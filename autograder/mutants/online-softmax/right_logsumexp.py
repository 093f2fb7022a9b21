import math

import torch


def add_block(largest, total, summed, query, keys, values):
    scores = query @ keys.T / math.sqrt(query.size(1))
    new = torch.max(largest, scores.amax(1)).detach()
    block_total = (torch.logsumexp(scores, dim=1) - new).exp()
    old = torch.where(torch.isinf(largest), torch.zeros_like(total), (largest - new).exp())
    weighted = (scores - new.unsqueeze(1)).exp().matmul(values)
    return new, old * total + block_total, old.unsqueeze(1) * summed + weighted
