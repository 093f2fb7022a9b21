import torch
import torch.nn.functional as F
from torch import nn

from course_utils.transformer import MultiHeadAttention


def normed(x, norm):
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + norm.eps) * norm.weight + norm.bias


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

    def forward(self, x, mask=None):
        for norm, part in ((self.norm1, "look"), (self.norm2, "think")):
            y = normed(x, norm) if self.norm_first else x
            y = self.attention(y, y, y, mask)[0] if part == "look" else self.feed_forward(y)
            x = x + self.dropout(y)
            if not self.norm_first:
                x = normed(x, norm)
        return x
