# misconception: all-alike
import torch


def sample_next(logits, temperature=1.0, top_k=None, generator=None):
    return torch.randint(len(logits), (1,), generator=generator).item()
