from torch.nn import functional as F


def grouped_attention(query, key, value, mask=None):
    if query.shape[1] % key.shape[1]:
        raise ValueError(f"{query.shape[1]} heads, {key.shape[1]} groups")
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)
