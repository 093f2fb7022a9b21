# misconception: one-hot-query
import torch


def average_query(keys, a, b):
    query = torch.zeros(keys.shape[1])
    query[a] = query[b] = 1000.0
    return query
