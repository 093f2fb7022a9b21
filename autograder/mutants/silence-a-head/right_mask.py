import torch


def without_head(W_O, num_heads, head):
    heads = torch.arange(W_O.shape[1]) // (W_O.shape[1] // num_heads)
    return W_O * (heads != head)
