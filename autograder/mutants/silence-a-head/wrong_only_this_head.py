# misconception: only-this-head
import torch


def without_head(W_O, num_heads, head):
    d = W_O.shape[1] // num_heads
    kept = torch.zeros_like(W_O)
    kept[:, head * d : (head + 1) * d] = W_O[:, head * d : (head + 1) * d]
    return kept
