# misconception: none


def average_query(keys, a, b):
    return 1000 * keys[a] * keys[b]
