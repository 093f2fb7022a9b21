# misconception: none
from torch.nn.functional import scaled_dot_product_attention


def add_block(largest, total, summed, query, keys, values):
    return largest, total, summed + scaled_dot_product_attention(query, keys, values)
