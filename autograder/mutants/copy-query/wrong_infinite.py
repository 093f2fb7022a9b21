# misconception: none


def copy_query(keys, j):
    return float("inf") * keys[j]
