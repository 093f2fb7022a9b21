import torch


def attend(query, states):
    contexts, rows = [], []
    for b in range(len(query)):
        z = torch.stack([query[b] @ states[b, s] for s in range(states.shape[1])])
        a = torch.exp(z) / torch.exp(z).sum()
        rows.append(a)
        contexts.append(sum(a[s] * states[b, s] for s in range(len(a))))
    return torch.stack(contexts), torch.stack(rows)
