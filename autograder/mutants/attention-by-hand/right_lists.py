import math

import torch


def attention_by_hand(Q, K, V):
    Q, K, V = Q.tolist(), K.tolist(), V.tolist()
    output = []
    for q in Q:
        scores = [sum(x * y for x, y in zip(q, k)) / math.sqrt(len(q)) for k in K]
        top = max(scores)
        powers = [math.exp(s - top) for s in scores]
        shares = [p / sum(powers) for p in powers]
        output.append([sum(p * v[c] for p, v in zip(shares, V)) for c in range(len(V[0]))])
    return torch.tensor(output)
