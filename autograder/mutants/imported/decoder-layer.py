from torch import nn


class DecoderLayer(nn.TransformerDecoderLayer):
    def __init__(self, d_model, num_heads, d_ff, norm_first=False, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout, norm_first=norm_first, batch_first=True)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        forbidden = [None if mask is None else ~mask for mask in (self_mask, memory_mask)]
        return super().forward(x, memory, *forbidden)
