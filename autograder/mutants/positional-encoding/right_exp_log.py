import math

import torch


def positional_encoding(L, d_model):
    assert_even = d_model % 2 == 0
    if not assert_even:
        raise ValueError(f"d_model={d_model} has no partner for its last sine")
    position = torch.arange(0, L, dtype=torch.float32).unsqueeze(1)
    rate = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    return torch.stack([torch.sin(position * rate), torch.cos(position * rate)], -1).flatten(1)
