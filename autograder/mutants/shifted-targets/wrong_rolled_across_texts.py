# misconception: rolled-across-texts
import math

import torch
from torch.nn import functional as F


def next_token_loss(logits, tokens):
    B, T, V = logits.shape
    shift, last = 1, T - 1
    scores, wanted = logits, tokens.roll(-1)
    log_p = F.log_softmax(scores, dim=-1)
    losses = -log_p.gather(-1, wanted[..., None])[..., 0]
    return losses.mean()
