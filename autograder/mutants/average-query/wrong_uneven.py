# misconception: uneven


def average_query(keys, a, b):
    c = keys.shape[1] ** 0.5
    return c * (21 * keys[a] + 20 * keys[b])
