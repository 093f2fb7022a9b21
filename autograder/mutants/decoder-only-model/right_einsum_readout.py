import torch
from torch import nn

from course_utils.transformer.multi_head import MultiHeadAttention


class CausalLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.GELU(approximate="tanh"), nn.Linear(d_ff, d_model)
        )

    def forward(self, x, mask):
        z = self.norm1(x)
        attended, _ = self.attention(z, z, z, mask)
        x = x + attended
        return self.feed_forward(self.norm2(x)) + x


class DecoderOnly(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, max_length):
        super().__init__()
        self.max_length = max_length
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(CausalLayer(d_model, num_heads, d_ff))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, tokens, first=0):
        _, T = tokens.size()
        needed = T + first
        if needed > self.max_length:
            raise ValueError("%d positions, but only %d exist" % (needed, self.max_length))
        x = self.tokens(tokens) + self.positions.weight[first:needed]
        for layer in self.layers:
            x = layer(x, torch.arange(T)[:, None] >= torch.arange(T))
        return torch.einsum("btd,vd->btv", self.norm(x), self.tokens.weight)
