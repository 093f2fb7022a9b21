# misconception: none


def copy_query(keys, j):
    return 1000 * keys[:, j]
