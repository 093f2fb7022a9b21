# misconception: none
import torch


def without_head(W_O, num_heads, head):
    d = W_O.shape[1] // num_heads
    return torch.cat([W_O[:, : head * d], W_O[:, (head + 1) * d :]], dim=1)
