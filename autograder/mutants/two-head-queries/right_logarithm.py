import math


def two_head_queries(directions, a, b):
    m, d = directions.shape
    c = 10 * d**0.5 * (math.log(m) + 5)
    return [c * directions[i] for i in (a, b)]
