from torch import nn


def next_token_loss(logits, tokens):
    return nn.CrossEntropyLoss()(logits.transpose(1, 2)[:, :, :-1], tokens[:, 1:])
