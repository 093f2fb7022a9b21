# misconception: one-query-twice


def two_head_queries(directions, a, b):
    query = 100 * directions.shape[1] ** 0.5 * (directions[a] + directions[b])
    return query, query
