import torch


def sample_next(logits, temperature=1.0, top_k=None, generator=None):
    V = len(logits)
    scores = logits / temperature
    if top_k is not None:
        k = min(top_k, V)
        order = logits.argsort(descending=True)
        kept = order[:k]
        left_out = torch.full_like(scores, float("-inf"))
        left_out[kept] = scores[kept]
        scores = left_out
    probabilities = torch.softmax(scores, dim=-1)
    token = torch.multinomial(probabilities, 1, generator=generator)
    token = int(token)
    return token
