# misconception: another-key


def copy_query(keys, j):
    return 100 * keys.shape[1] ** 0.5 * keys[j - 1]
