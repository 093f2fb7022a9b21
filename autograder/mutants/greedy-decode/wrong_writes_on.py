# misconception: writes-on-after-the-end
import torch


def greedy_decode(step, first, end, max_length):
    tokens = first[:, None]
    ended = torch.zeros(len(first), dtype=torch.bool)
    for _ in range(max_length):
        best = step(tokens).argmax(dim=-1)
        tokens = torch.cat([tokens, best[:, None]], dim=1)
        ended = ended | (best == end)
        if ended.all():
            break
    return tokens[:, 1:]
