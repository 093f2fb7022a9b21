import torch.nn.functional as F


def next_token_loss(logits, tokens):
    B, T, V = logits.shape
    return F.cross_entropy(logits[:, : T - 1].reshape(-1, V), tokens[:, 1:].reshape(-1))
