# misconception: constant-too-small


def copy_query(keys, j):
    return keys[j] * keys.shape[1] ** 0.5
