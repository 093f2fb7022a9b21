import heapq
import torch


def beam_search(step, start, end, beam, max_length, length_penalty=0.0):
    live, finished = [(0.0, [start])], []
    while live and len(finished) < beam:
        length = len(live[0][1])
        rows = step(torch.tensor([tokens for _, tokens in live]))
        options = [
            (total + value, tokens + [word])
            for (total, tokens), row in zip(live, rows.tolist())
            for word, value in enumerate(row)
        ]
        live = []
        for total, tokens in heapq.nlargest(beam, options):
            if tokens[-1] == end or length == max_length:
                finished.append((total / length**length_penalty, tokens))
            else:
                live.append((total, tokens))
    score, tokens = max(finished)
    return torch.tensor(tokens[1:]), torch.tensor(score)
