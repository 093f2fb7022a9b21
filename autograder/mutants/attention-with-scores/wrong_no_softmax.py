# misconception: raw-scores
import torch


def attention(query, keys, values, score):
    weights = score(query, keys)
    return (weights[:, :, None] * values).sum(dim=1), weights


def dot_score(query, keys):
    return (keys @ query[:, :, None]).squeeze(-1)


def additive_score(query, keys, W, U, v):
    return torch.tanh((query @ W.T)[:, None] + keys @ U.T) @ v


def linear_score(query, keys, W, b):
    S = keys.shape[1]
    return query @ W[:S].T + b[:S]
