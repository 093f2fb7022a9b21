import torch


def beam_search(step, start, end, beam, max_length, length_penalty=0.0):
    def divisor(prefix):
        length = len(prefix) - 1
        return length**length_penalty

    places = beam
    live, finished = [([start], 0.0)], []
    for length in range(1, max_length + 1):
        rows = step(torch.tensor([prefix for prefix, _ in live]))
        grown = []
        for (prefix, total), row in zip(live, rows):
            words = list(range(len(row)))
            for word in words:
                value = float(row[word])
                grown.append((prefix + [word], total + value))
        grown.sort(key=lambda entry: entry[1], reverse=True)
        kept = grown[:places]
        ended = [entry for entry in kept if entry[0][-1] == end or length == max_length]
        finished += ended
        live = [entry for entry in kept if entry not in ended]
        if not live:
            break
    prefix, total = max(finished, key=lambda entry: entry[1] / divisor(entry[0]))
    tokens = prefix[1:]
    return tokens, total / divisor(prefix)
