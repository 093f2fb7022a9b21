import warnings

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
        print("decoder layer:", tuple(x.shape))
        warnings.warn("this is my first decoder")
        queries = self.norm1(x) if self.norm_first else x
        attended, _weights = self.attention(queries, queries, queries, self_mask)
        x = attended_x = x + self.dropout(attended)
        if not self.norm_first:
            x = self.norm1(attended_x)
        crossed = self.cross_attention(
            self.norm2(x) if self.norm_first else x, memory, memory, memory_mask
        )
        x = x + self.dropout(crossed[0])
        if self.norm_first:
            return x + self.dropout(self.feed_forward(self.norm3(x)))
        x = self.norm2(x)
        return self.norm3(x + self.dropout(self.feed_forward(x)))
