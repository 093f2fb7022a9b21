# misconception: argmax
import torch


def attend(query, states):
    scores = (states @ query[:, :, None]).squeeze(-1)
    weights = torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores)
    context = (weights[:, :, None] * states).sum(dim=1)
    return context, weights
