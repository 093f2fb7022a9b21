# misconception: constant-too-small


def average_query(keys, a, b):
    return 5 * keys.shape[1] ** 0.5 * (keys[a] + keys[b])
