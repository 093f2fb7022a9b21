# misconception: none
import torch.nn.functional as F


def attention_by_hand(Q, K, V):
    return F.scaled_dot_product_attention(Q[None], K[None], V[None])[0]
