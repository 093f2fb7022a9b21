# misconception: one-child-each
import torch


def beam_search(step, start, end, beam, max_length, length_penalty=0.0):
    first = step(torch.tensor([[start]]))[0]
    totals, words = first.topk(min(beam, len(first)))
    prefixes = torch.cat([torch.full((len(words), 1), start), words[:, None]], dim=1)
    finished = []
    for length in range(1, max_length + 1):
        ended = (prefixes[:, -1] == end) | (length == max_length)
        finished += list(zip(prefixes[ended].tolist(), totals[ended].tolist()))
        prefixes, totals = prefixes[~ended], totals[~ended]
        if len(prefixes) == 0:
            break
        best, words = step(prefixes).max(dim=1)
        totals = totals + best
        prefixes = torch.cat([prefixes, words[:, None]], dim=1)
    prefix, total = max(finished, key=lambda f: f[1] / (len(f[0]) - 1) ** length_penalty)
    return prefix[1:], total / (len(prefix) - 1) ** length_penalty
