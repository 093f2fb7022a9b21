# misconception: shrinking-beam
import torch


def beam_search(step, start, end, beam, max_length, length_penalty=0.0):
    prefixes, totals, finished, k = torch.tensor([[start]]), torch.zeros(1).double(), [], beam
    for length in range(1, max_length + 1):
        scores = (totals.unsqueeze(1) + step(prefixes)).flatten()
        V = scores.numel() // len(prefixes)
        totals, index = torch.topk(scores, min(k, scores.numel()))
        prefixes = torch.cat((prefixes[index // V], (index % V).unsqueeze(1)), 1)
        over = prefixes[:, -1].eq(end) if length < max_length else torch.ones(len(prefixes)).bool()
        finished += list(zip(prefixes[over], (totals[over] / length**length_penalty).tolist()))
        prefixes, totals, k = prefixes[~over], totals[~over], k - int(over.sum())
        if k <= 0 or len(prefixes) == 0:
            break
    prefix, score = max(finished, key=lambda f: f[1])
    return prefix[1:].tolist(), score
