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

    def forward(self, x):
        z = self.norm1(x)
        rows = []
        for t in range(x.shape[1]):  # one position at a time: what is not there can't be seen
            past = z[:, : t + 1]
            rows.append(self.attention(z[:, t : t + 1], past, past)[0])
        x = x + torch.cat(rows, dim=1)
        return x + self.feed_forward(self.norm2(x))


class DecoderOnly(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, max_length):
        super().__init__()
        self.max_length = max_length
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(max_length, d_model)
        self.layers = nn.Sequential(
            *[CausalLayer(d_model, num_heads, d_ff) for _ in range(num_layers)]
        )
        self.norm = nn.LayerNorm(d_model)

    def forward(self, tokens, first=0):
        T = tokens.shape[1]
        if first + T > self.max_length:
            raise ValueError(f"there is no position {first + T}, only {self.max_length}")
        embedded = []
        for t in range(T):
            embedded.append(self.tokens(tokens[:, t]) + self.positions(torch.tensor(first + t)))
        x = self.norm(self.layers(torch.stack(embedded, dim=1)))
        return torch.einsum("btd,vd->btv", x, self.tokens.weight)
