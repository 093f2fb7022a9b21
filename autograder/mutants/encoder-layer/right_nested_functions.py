import torch
from torch import nn

from course_utils.transformer import MultiHeadAttention


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first=False, dropout=0.0):
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def residual(self, x, norm, function):
        if self.norm_first:
            return torch.add(x, self.dropout(function(norm(x))))
        return norm(x + self.dropout(function(x)))

    def forward(self, x, mask=None):
        x = self.residual(x, self.norm1, lambda y: self.attention(y, y, y, mask)[0])
        return self.residual(x, self.norm2, self.feed_forward)
