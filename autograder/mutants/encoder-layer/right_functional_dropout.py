import torch
import torch.nn.functional as F
from torch import nn

from course_utils.transformer import MultiHeadAttention


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first=False, dropout=0.0):
        super().__init__()
        self.p, self.norm_first = dropout, norm_first
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        pre = (lambda n, y: n(y)) if self.norm_first else (lambda n, y: y)
        post = (lambda n, y: y) if self.norm_first else (lambda n, y: n(y))
        z = pre(self.norm1, x)
        z = F.dropout(self.attention(z, z, z, mask)[0], self.p, training=self.training)
        x = post(self.norm1, x + z)
        z = F.dropout(self.feed_forward(pre(self.norm2, x)), self.p, training=self.training)
        return post(self.norm2, x + z)
