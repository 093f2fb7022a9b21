import torch


def without_head(W_O, num_heads, head):
    pieces = list(W_O.chunk(num_heads, dim=1))
    pieces[head] = torch.zeros_like(pieces[head])
    return torch.cat(pieces, dim=1)
