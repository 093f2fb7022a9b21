# misconception: top-k-one-fewer
import torch


def sample_next(logits, temperature=1.0, top_k=None, generator=None):
    logits = logits / temperature
    if top_k is not None and top_k < len(logits):
        smallest_kept = logits.topk(top_k).values[-1]
        logits = logits.masked_fill(logits <= smallest_kept, float("-inf"))
    probabilities = torch.softmax(logits, dim=-1)
    return torch.multinomial(probabilities, 1, generator=generator).item()
