import math

import torch


def attention_by_hand(Q, K, V):
    L, d = K.shape
    output = torch.zeros(L, V.shape[1])
    for i in range(L):
        scores = []
        for j in range(L):
            total = 0.0
            for k in range(d):
                total = total + Q[i, k] * K[j, k]
            scores.append(total / math.sqrt(d))
        powers = [torch.exp(s) for s in scores]
        for j in range(L):
            output[i] += powers[j] / sum(powers) * V[j]
    return output
