# misconception: constant-too-small


def two_head_queries(directions, a, b):
    return directions[a], directions[b]
