# misconception: top-k-ranks
import torch


def sample_next(logits, temperature=1.0, top_k=None, generator=None):
    scores = logits / temperature
    if top_k is not None:
        scores = scores.topk(min(top_k, len(scores))).values
    return torch.multinomial(scores.softmax(-1), 1, generator=generator).item()
