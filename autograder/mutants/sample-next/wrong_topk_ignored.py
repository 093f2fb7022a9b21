# misconception: top-k-ignored
import torch


def sample_next(logits, temperature=1.0, top_k=None, generator=None):
    logits = logits / temperature
    probabilities = torch.softmax(logits, dim=-1)
    return torch.multinomial(probabilities, 1, generator=generator).item()
