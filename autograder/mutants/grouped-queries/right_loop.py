import torch


def grouped_attention(query, key, value, mask=None):
    heads, groups = query.size(1), key.size(1)
    if heads % groups:
        raise ValueError(f"can't share {groups} groups among {heads} heads")
    outputs = []
    for h in range(heads):
        g = h * groups // heads
        z = torch.bmm(query[:, h], key[:, g].mT) * query.size(-1) ** -0.5
        if mask is not None:
            z = z.masked_fill(mask.logical_not(), -1e9)
        outputs.append(torch.bmm(z.softmax(-1), value[:, g]))
    return torch.stack(outputs, 1)
