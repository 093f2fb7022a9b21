# misconception: none
import torch.nn.functional as F


def next_token_loss(logits, tokens):
    log_p = F.log_softmax(logits[:, :-1], dim=1)
    return -log_p.gather(-1, tokens[:, 1:, None]).mean()
