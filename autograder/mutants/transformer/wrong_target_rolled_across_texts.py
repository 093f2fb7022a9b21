# misconception: target-rolled-across-texts
import math

import torch
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

    def forward(self, x, mask=None):
        if self.norm_first:
            z = self.norm1(x)
            a, _ = self.attention(z, z, z, mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        a, _ = self.attention(x, x, x, mask)
        x = self.norm1(x + self.dropout(a))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


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

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        if self.norm_first:
            z = self.norm1(x)
            x = x + self.dropout(self.attention(z, z, z, self_mask)[0])
            z = self.norm2(x)
            x = x + self.dropout(self.cross_attention(z, memory, memory, memory_mask)[0])
            return x + self.dropout(self.feed_forward(self.norm3(x)))
        x = self.norm1(x + self.dropout(self.attention(x, x, x, self_mask)[0]))
        x = self.norm2(x + self.dropout(self.cross_attention(x, memory, memory, memory_mask)[0]))
        return self.norm3(x + self.dropout(self.feed_forward(x)))


class Transformer(nn.Module):
    def __init__(
        self,
        d_model,
        num_heads,
        num_layers,
        d_ff,
        source_size,
        target_size,
        norm_first=False,
        dropout=0.0,
        max_length=128,
    ):
        super().__init__()
        self.d_model, self.max_length = d_model, max_length
        self.source_embedding = nn.Embedding(source_size, d_model)
        self.target_embedding = nn.Embedding(target_size, d_model)
        self.source_positions = nn.Embedding(max_length, d_model)
        self.target_positions = nn.Embedding(max_length, d_model)
        sizes = d_model, num_heads, d_ff, norm_first, dropout
        self.encoder_layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.decoder_layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder_norm = nn.LayerNorm(d_model)
        self.readout = nn.Linear(d_model, target_size)
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens, embedding, positions, with_positions=1):
        L = tokens.shape[1]
        if L > self.max_length:
            raise ValueError(f"{L} words, but only {self.max_length} positions")
        places = positions(torch.arange(L)) * with_positions
        return self.dropout(embedding(tokens) * math.sqrt(self.d_model) + places)

    def encode(self, source, source_mask=None):
        mask = None if source_mask is None else source_mask[:, None, :]
        x = start = self.embed(source, self.source_embedding, self.source_positions, 1)
        for layer in self.encoder_layers:
            x = layer(x, mask)
        x = self.encoder_norm(x)
        return x

    def decode(self, target, memory, source_mask=None):
        target = target.roll(1)
        T = target.shape[1]
        cross_mask = None if source_mask is None else source_mask[:, None, :]
        causal = torch.ones(T, T, dtype=torch.bool).tril()
        x = self.embed(target, self.target_embedding, self.target_positions, 1)
        for layer in self.decoder_layers:
            x = layer(x, memory, causal, cross_mask)
        x = self.decoder_norm(x)
        scores = self.readout(x)
        return scores

    def forward(self, source, target, source_mask=None):
        return self.decode(target, self.encode(source, source_mask), source_mask)
