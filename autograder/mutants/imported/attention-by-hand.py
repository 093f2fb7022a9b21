import numpy as np

from course_utils.by_hand.noisy_average import attend


def attention_by_hand(Q, K, V):
    return np.stack([attend(q, K / K.shape[1] ** 0.5, V) for q in Q])
