# misconception: matrix-product
import numpy as np


def attention_by_hand(Q, K, V):
    scores = Q.numpy() @ K.numpy().T / K.shape[1] ** 0.5
    weights = np.exp(scores)
    weights = weights / weights.sum(1, keepdims=True)
    return np.stack([w @ V.numpy() for w in weights])
