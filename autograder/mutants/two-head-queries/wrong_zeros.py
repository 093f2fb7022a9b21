# misconception: none
import torch


def two_head_queries(directions, a, b):
    return torch.zeros(directions.shape[1]), torch.zeros(directions.shape[1])
