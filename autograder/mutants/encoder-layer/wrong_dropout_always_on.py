# misconception: dropout-in-evaluation
from torch import nn

from course_utils.transformer.multi_head import MultiHeadAttention


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first=False, dropout=0.0):
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = lambda y: nn.functional.dropout(y, dropout)

    def forward(self, x, mask=None):
        if self.norm_first:
            z = self.norm1(x)
            a, _ = self.attention(z, z, z, mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        a, _ = self.attention(x, x, x, mask)
        x = self.norm1(x + self.dropout(a))
        return self.norm2(x + self.dropout(self.feed_forward(x)))
