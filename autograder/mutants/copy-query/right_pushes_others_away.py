def copy_query(keys, j):
    others = keys.sum(dim=0) - keys[j]
    return 60 * keys.shape[1] ** 0.5 * (keys[j] - others)
