import torch


def one_hot_positions(T):
    table = torch.zeros(T, T)
    for t in range(T):
        table[t, t] = 1
    return table


def sine_positions(T, d):
    import math

    rows = []
    for t in range(T):
        row = []
        for i in range(d // 2):
            row += [math.sin(t / 10000 ** (2 * i / d)), math.cos(t / 10000 ** (2 * i / d))]
        rows.append(row)
    return torch.tensor(rows)
