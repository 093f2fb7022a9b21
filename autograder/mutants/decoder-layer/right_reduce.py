import functools

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

    def step(self, x, pair):
        norm, sublayer = pair
        added = self.dropout(sublayer(norm(x) if self.norm_first else x))
        return x + added if self.norm_first else norm(x + added)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        def look_back(y):
            return self.attention(y, y, y, mask=self_mask)[0]

        def look_over(y):
            return self.cross_attention(query=y, key=memory, value=memory, mask=memory_mask)[0]

        sublayers = look_back, look_over, self.feed_forward
        return functools.reduce(self.step, zip((self.norm1, self.norm2, self.norm3), sublayers), x)
