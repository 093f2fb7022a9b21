# misconception: no-constant


def copy_query(keys, j):
    return keys[j]
