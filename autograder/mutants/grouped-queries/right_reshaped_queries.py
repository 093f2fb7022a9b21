import torch


def grouped_attention(query, key, value, mask=None):
    B, H, T, d = query.shape
    G, S = key.shape[1], key.shape[2]
    if H % G:
        raise ValueError(f"{H} % {G} is not 0")
    query = query.reshape(B, G, H // G, T, d)
    scores = torch.einsum("bghtd,bgsd->bghts", query, key) / d**0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.einsum("bghts,bgsd->bghtd", scores.softmax(-1), value).reshape(B, H, T, d)
