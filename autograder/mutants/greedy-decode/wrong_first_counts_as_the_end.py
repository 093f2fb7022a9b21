# misconception: none
import torch


def greedy_decode(step, first, end, max_length):
    tokens = first[:, None]
    ended = first == end
    for _ in range(max_length):
        best = step(tokens).argmax(dim=-1)
        best = torch.where(ended, end, best)
        tokens = torch.cat([tokens, best[:, None]], dim=1)
        ended = ended | (best == end)
        if ended.all():
            break
    return tokens[:, 1:]
