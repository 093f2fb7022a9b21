import math

import torch


def positional_encoding(length, d_model):
    if d_model % 2 != 0:
        raise ValueError(f"d_model = {d_model} is odd")
    table = torch.zeros(length, d_model)
    waves = (math.sin, math.cos)
    for place in range(length):
        for column in range(d_model):
            i, wave = column // 2, waves[column % 2]
            i = i + 0
            t = place + 0
            angle = t / 10000 ** (2 * i / d_model)
            table[place, column] = wave(angle)
    return table
