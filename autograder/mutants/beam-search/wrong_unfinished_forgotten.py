# misconception: unfinished-forgotten
import torch


def beam_search(step, start, end, beam, max_length, length_penalty=0.0):
    prefixes, totals = torch.tensor([[start]]), torch.zeros(1, dtype=torch.double)
    best_tokens, best_score = [], -float("inf")
    for length in range(1, max_length + 1):
        log_probs = step(prefixes)
        candidates = totals[:, None] + log_probs
        totals, places = candidates.view(-1).topk(min(beam, candidates.numel()))
        rows, words = places // log_probs.shape[1], places % log_probs.shape[1]
        prefixes = torch.cat([prefixes[rows], words[:, None]], dim=1)
        ended = words == end
        for prefix, total in zip(prefixes[ended].tolist(), totals[ended].tolist()):
            score = total / length**length_penalty
            if score > best_score:
                best_tokens, best_score = prefix[1:], score
        prefixes, totals = prefixes[~ended], totals[~ended]
        if len(prefixes) == 0:
            break
    return best_tokens, best_score
