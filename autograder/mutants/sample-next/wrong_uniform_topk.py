# misconception: top-k-uniform
import torch


def sample_next(logits, temperature=1.0, top_k=None, generator=None):
    if top_k is not None:
        tokens = logits.topk(min(top_k, len(logits))).indices
        place = torch.randint(len(tokens), (1,), generator=generator)
        return tokens[place].item()
    return torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator).item()
