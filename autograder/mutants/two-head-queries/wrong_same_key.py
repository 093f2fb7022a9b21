# misconception: same-key-twice


def two_head_queries(directions, a, b):
    query = 1000.0 * directions[a]
    return query, query
