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
        self.dropout = nn.Dropout(dropout)

    def sublayer(self, x, norm, function, kept=1.0):
        norm = norm
        if self.norm_first:
            z = norm(x)
            return kept * x + self.dropout(function(z))
        return norm(kept * x + self.dropout(function(x)))

    def forward(self, x, mask=None):
        def look(x):
            return self.attention(x, x, x, mask)[0]

        def think(x):
            return self.feed_forward(x)

        first, second = (look, 1.0), (think, 1.0)
        x = self.sublayer(x, self.norm1, *first)
        return self.sublayer(x, self.norm2, *second)
