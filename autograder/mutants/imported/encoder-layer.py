from torch import nn


class EncoderLayer(nn.TransformerEncoderLayer):
    def __init__(self, d_model, num_heads, d_ff, norm_first=False, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout, norm_first=norm_first, batch_first=True)

    def forward(self, x, mask=None):
        return super().forward(x, None if mask is None else ~mask)
