import torch


def attention(query, keys, values, score):
    scores = score(query, keys)
    contexts, rows = [], []
    for b in range(len(query)):
        powers = [torch.exp(z) for z in scores[b]]
        row = torch.stack([p / sum(powers) for p in powers])
        rows.append(row)
        contexts.append(sum(a * v for a, v in zip(row, values[b])))
    return torch.stack(contexts), torch.stack(rows)


def dot_score(query, keys):
    return torch.stack([torch.stack([q @ k for k in ks]) for q, ks in zip(query, keys)])


def additive_score(query, keys, W, U, v):
    rows = []
    for q, ks in zip(query, keys):
        rows.append(torch.stack([v @ torch.tanh(W @ q + U @ k) for k in ks]))
    return torch.stack(rows)


def linear_score(query, keys, W, b):
    rows = []
    for q in query:
        rows.append(torch.stack([W[s] @ q + b[s] for s in range(keys.shape[1])]))
    return torch.stack(rows)
