# misconception: no-constant


def average_query(keys, a, b):
    return keys[a] + keys[b]
