import torch


def attend(query, states):
    scores = torch.bmm(states, query.unsqueeze(2)).squeeze(2)
    weights = torch.nn.functional.softmax(scores, dim=1)
    return torch.bmm(weights.unsqueeze(1), states).squeeze(1), weights
