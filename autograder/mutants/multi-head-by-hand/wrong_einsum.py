# misconception: matrix-product
import torch


def multi_head_by_hand(X, W_Q, W_K, W_V, W_O):
    Q, K, V = (torch.einsum("ld,hdk->hlk", X, W) for W in (W_Q, W_K, W_V))
    P = torch.softmax(torch.einsum("hik,hjk->hij", Q, K) / Q.shape[-1] ** 0.5, -1)
    return torch.einsum("hij,hjv->ihv", P, V).flatten(1) @ W_O
