import torch


def next_token_loss(logits, tokens):
    losses = []
    for b in range(len(tokens)):
        for t in range(tokens.shape[1] - 1):
            z = logits[b, t]
            losses.append(torch.logsumexp(z, dim=0) - z[tokens[b, t + 1]])
    return sum(losses) / len(losses)
