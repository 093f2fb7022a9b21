import torch
import numpy as np


def beam_search(step, start, end, beam, max_length, length_penalty=0.0):
    """Those that end take no place in the beam; `beam` unfinished prefixes always go on."""
    live = [((start,), 0.0)]
    finished = []
    for t in range(1, max_length + 1):
        logs = np.asarray(step(torch.tensor([p for p, _ in live])))
        grown = []
        for i, (prefix, total) in enumerate(live):
            for word in range(logs.shape[1]):
                hypothesis = (prefix + (word,), total + float(logs[i, word]))
                if word == end or t == max_length:
                    finished.append(hypothesis)
                else:
                    grown.append(hypothesis)
        grown.sort(key=lambda h: -h[1])
        live = grown[:beam]
        if not live:
            break
    score, tokens = max((total / (len(p) - 1) ** length_penalty, p[1:]) for p, total in finished)
    return list(tokens), score
