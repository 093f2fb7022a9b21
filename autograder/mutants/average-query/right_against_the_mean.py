def average_query(keys, a, b):
    return 80 * keys.shape[1] ** 0.5 * (keys[a] + keys[b] - keys.sum(dim=0))
