# misconception: another-key


def two_head_queries(directions, a, b):
    return 1000.0 * directions[a - 1], 1000.0 * directions[b - 1]
