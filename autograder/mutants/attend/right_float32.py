import torch


def attend(query, states):
    q, h = query.float(), states.float()
    weights = torch.softmax((h * q[:, None]).sum(-1), dim=-1)
    print("attending")
    return (weights[..., None] * h).sum(1), weights
