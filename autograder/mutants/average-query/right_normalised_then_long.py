import torch


def average_query(keys, a, b):
    direction = (keys[a] + keys[b]) / torch.linalg.norm(keys[a] + keys[b])
    return direction * 50 * keys.shape[1] ** 0.5
