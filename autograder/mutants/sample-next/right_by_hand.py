import math

import torch


def sample_next(logits, temperature=1.0, top_k=None, generator=None):
    logits = logits.tolist()
    order = sorted(range(len(logits)), key=lambda i: logits[i], reverse=True)[:top_k]
    powers = [math.exp(logits[i] / temperature) for i in order]
    u = torch.rand(1, generator=generator).item() * sum(powers)
    for token, power in zip(order, powers):
        u -= power
        if u < 0:
            return token
    return order[-1]
