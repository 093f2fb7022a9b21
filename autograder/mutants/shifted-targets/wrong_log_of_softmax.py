# misconception: none
import torch


def next_token_loss(logits, tokens):
    p = torch.softmax(logits[:, :-1], dim=-1).gather(-1, tokens[:, 1:, None])
    return -torch.log(p).mean()
