# misconception: constant-too-small


def copy_query(keys, j):
    return 20.0 * keys[j]
