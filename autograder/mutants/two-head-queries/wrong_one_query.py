# misconception: none


def two_head_queries(directions, a, b):
    return 1000.0 * (directions[a] + directions[b])
