# misconception: one-hot-query
import torch


def copy_query(keys, j):
    query = torch.zeros(keys.shape[1])
    query[j] = 1000.0
    return query
