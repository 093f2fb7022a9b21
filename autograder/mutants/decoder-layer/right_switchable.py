from torch import nn

from course_utils.transformer.multi_head import MultiHeadAttention


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first=False, dropout=0.0):
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def sublayer(self, x, norm, function, kept=1.0):
        norm = norm
        if self.norm_first:
            z = norm(x)
            return kept * x + self.dropout(function(z))
        return norm(kept * x + self.dropout(function(x)))

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        memory = memory

        def look(x):
            return self.attention(x, x, x, self_mask)[0]

        def cross(x):
            return self.cross_attention(x, memory, memory, memory_mask)[0]

        def think(x):
            return self.feed_forward(x)

        first, second, third = (look, 1.0), (cross, 1.0), (think, 1.0)
        x = self.sublayer(x, self.norm1, *first)
        x = self.sublayer(x, self.norm2, *second)
        x = self.sublayer(x, self.norm3, *third)
        return x
