# misconception: changes-its-input
import torch.nn.functional as F


def next_token_loss(logits, tokens):
    scores = logits[:, :-1]
    loss = F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
    tokens.clamp_(max=1)
    tokens[:, 0] = 1
    return loss
