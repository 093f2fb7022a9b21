import torch


def without_head(W_O, num_heads, head):
    d = W_O.shape[1] // num_heads
    places = slice(head * d, (head + 1) * d)
    kept = torch.ones_like(W_O)
    kept[:, places] = 0
    return W_O * kept
