# misconception: none
import math

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

    def attend(self, z):
        T = z.shape[1]
        mask = torch.ones(T, T, dtype=torch.bool).tril()
        return self.attention(z, z, z, mask)[0]

    def add(self, x, norm, part):
        z = norm(x)
        return x + part(z)

    def forward(self, x):
        x = self.add(x, self.norm1, self.attend)
        return self.add(x, self.norm2, self.feed_forward)


class DecoderOnly(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, max_length):
        super().__init__()
        self.d_model, self.max_length = d_model, max_length
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(
            CausalLayer(d_model, num_heads, d_ff) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)

    def forward(self, tokens, first=0):
        T = tokens.shape[1]
        if first + T > self.max_length:
            raise ValueError(f"{first + T} positions needed, {self.max_length} are there")
        words = self.tokens(tokens)
        places = self.positions(torch.arange(T) + first)
        x = start = words * places
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x)
        logits = x @ self.tokens.weight.T
        return logits
