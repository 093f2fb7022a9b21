# misconception: none
import torch.nn.functional as F


def next_token_loss(logits, tokens):
    wanted = F.one_hot(tokens[:, 1:], logits.shape[-1]).to(logits)
    return ((logits[:, :-1] - wanted) ** 2).mean()
