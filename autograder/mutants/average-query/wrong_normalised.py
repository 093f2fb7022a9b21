# misconception: normalised-query


def average_query(keys, a, b):
    total = keys[a] + keys[b]
    return total / total.norm()
