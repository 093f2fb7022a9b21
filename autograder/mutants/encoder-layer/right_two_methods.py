import torch
import torch.nn.functional as F
from torch import nn

from course_utils.transformer import MultiHeadAttention


class FeedForward(nn.Sequential):
    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__(nn.Linear(d_model, d_ff), nn.ReLU(inplace=True), nn.Linear(d_ff, d_model))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first=False, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm1, self.norm2 = (nn.LayerNorm(d_model) for _ in range(2))
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)
        self.steps = self.before if norm_first else self.after

    def before(self, x, mask):
        z = self.norm1(x)
        x = x + self.drop1(self.attention(z, z, z, mask)[0])
        return x + self.drop2(self.feed_forward(self.norm2(x)))

    def after(self, x, mask):
        x = self.norm1(x + self.drop1(self.attention(x, x, x, mask)[0]))
        return self.norm2(x + self.drop2(self.feed_forward(x)))

    def forward(self, x, mask=None):
        return self.steps(x, mask)
