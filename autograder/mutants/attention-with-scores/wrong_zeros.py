# misconception: none
import torch


def attention(query, keys, values, score):
    B, S, V = values.shape
    return torch.zeros(B, V), torch.zeros(B, S)


def dot_score(query, keys):
    return torch.zeros(keys.shape[:2])


def additive_score(query, keys, W, U, v):
    return torch.zeros(keys.shape[:2])


def linear_score(query, keys, W, b):
    return torch.zeros(keys.shape[:2])
