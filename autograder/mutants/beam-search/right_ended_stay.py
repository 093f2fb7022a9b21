import torch


def beam_search(step, start, end, beam, max_length, length_penalty=0.0):
    hypotheses = [([start], 0.0)]

    def done(h):
        return len(h[0]) > 1 and h[0][-1] == end

    def score(h):
        return h[1] / (len(h[0]) - 1) ** length_penalty

    for _ in range(max_length):
        open_ones = [h for h in hypotheses if not done(h)]
        if not open_ones:
            break
        log_probs = step(torch.tensor([h[0] for h in open_ones])).tolist()
        grown = [h for h in hypotheses if done(h)]
        for (prefix, total), row in zip(open_ones, log_probs):
            grown += [(prefix + [word], total + value) for word, value in enumerate(row)]
        hypotheses = sorted(grown, key=lambda h: h[1], reverse=True)[:beam]
    best = max(hypotheses, key=score)
    return best[0][1:], score(best)
