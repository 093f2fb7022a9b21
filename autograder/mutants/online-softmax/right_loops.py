import torch


def add_block(largest, total, summed, query, keys, values):
    m, l, o = [], [], []
    for t in range(len(query)):
        a, b, c = largest[t], total[t], summed[t]
        for key, value in zip(keys, values):
            score = (query[t] * key).sum() / len(key) ** 0.5
            new = torch.maximum(a, score)
            shrink, power = (a - new).exp(), (score - new).exp()
            a, b, c = new, b * shrink + power, c * shrink + power * value
        m.append(a), l.append(b), o.append(c)
    return torch.stack(m), torch.stack(l), torch.stack(o)
