# misconception: constant-too-small


def average_query(keys, a, b):
    return (keys[a] + keys[b]) / 2
