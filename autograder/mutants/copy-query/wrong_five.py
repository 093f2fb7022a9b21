# misconception: constant-too-small


def copy_query(keys, j):
    return 5 * keys.shape[1] ** 0.5 * keys[j]
