# misconception: none
from course_utils.transformer.multi_head import MultiHeadAttention


def grouped_attention(query, key, value, mask=None):
    B, H, T, d = query.shape
    attention = MultiHeadAttention(d, 1).to(query)
    return attention(query[:, 0], key[:, 0], value[:, 0], mask)[0][:, None].expand(B, H, T, d)
