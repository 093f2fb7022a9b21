# misconception: none
from course_utils.transformer import positional_encoding


def rotate(x, first=0, base=10000.0):
    return x + positional_encoding(first + x.shape[2], x.shape[3])[first:]
