import math

import torch


def positional_encoding(L, d_model):
    if d_model % 2 == 1:
        raise ValueError("odd size " + str(d_model))
    rows = []
    for t in range(L):
        row = []
        for i in range(d_model // 2):
            angle = t / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)
