def two_head_queries(directions, a, b):
    c = 1e5
    return c * directions[b], c * directions[a]
