import torch
import torch.nn.functional as F


def sample_next(logits, temperature=1.0, top_k=None, generator=None):
    V = logits.shape[-1]
    values, tokens = torch.topk(logits, min(top_k or V, V))
    place = torch.multinomial(F.softmax(values / temperature), 1, generator=generator)
    return int(tokens[place])
