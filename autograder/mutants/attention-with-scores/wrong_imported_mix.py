# misconception: none
import torch

from course_utils.recurrent.scoring import mix


def attention(query, keys, values, score):
    return mix(score, values)
