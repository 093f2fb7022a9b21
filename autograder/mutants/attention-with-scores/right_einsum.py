import torch


def attention(query, keys, values, score):
    weights = score(query, keys).softmax(-1)
    return torch.einsum("bs,bsv->bv", weights, values), weights


def dot_score(query, keys):
    return (query.unsqueeze(1) * keys).sum(-1)


def additive_score(query, keys, W, U, v):
    both = torch.einsum("ad,bd->ba", W, query)[:, None] + torch.einsum("ad,bsd->bsa", U, keys)
    return torch.einsum("a,bsa->bs", v, both.tanh())


def linear_score(query, keys, W, b):
    return torch.nn.functional.linear(query, W, b)[:, : keys.shape[1]]
