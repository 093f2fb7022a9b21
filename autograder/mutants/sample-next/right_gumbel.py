import torch


def sample_next(logits, temperature=1.0, top_k=None, generator=None):
    """The largest of logits / T plus Gumbel noise is a draw from the softmax."""
    noise = torch.empty_like(logits).exponential_(generator=generator)
    scores = logits / temperature - noise.log()
    if top_k is not None:
        rank = logits.argsort(descending=True).argsort()
        scores[rank >= top_k] = -torch.inf
    return scores.argmax().item()
