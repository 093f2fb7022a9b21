# misconception: none
import torch


def attention_by_hand(Q, K, V):
    for i in range(len(Q)):
        weights = torch.softmax(K @ Q[i] / K.shape[1] ** 0.5, dim=0)
        V[i] = weights @ V
    return V
