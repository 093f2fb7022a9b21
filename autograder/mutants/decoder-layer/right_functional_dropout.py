import torch.nn.functional as F
from torch import nn

from course_utils.transformer import MultiHeadAttention


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first=False, dropout=0.0):
        super().__init__()
        self.norm_first, self.p = norm_first, dropout
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        def drop(y):
            return F.dropout(y, p=self.p, training=self.training)

        y = self.norm1(x) if self.norm_first else x
        x = x + drop(self.attention(y, y, y, self_mask)[0])
        x, y = (x, self.norm2(x)) if self.norm_first else 2 * (self.norm1(x),)
        x = x + drop(self.cross_attention(y, memory, memory, memory_mask)[0])
        x, y = (x, self.norm3(x)) if self.norm_first else 2 * (self.norm2(x),)
        x = x + drop(self.feed_forward(y))
        return x if self.norm_first else self.norm3(x)
