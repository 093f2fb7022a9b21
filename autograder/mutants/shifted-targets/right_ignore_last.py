import torch
import torch.nn.functional as F


def next_token_loss(logits, tokens):
    nothing = torch.full_like(tokens[:, :1], -100)
    wanted = torch.cat([tokens[:, 1:], nothing], dim=1)
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten())
