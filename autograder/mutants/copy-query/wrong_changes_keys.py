# misconception: changes-its-input


def copy_query(keys, j):
    keys *= 100 * keys.shape[1] ** 0.5
    return keys[j]
