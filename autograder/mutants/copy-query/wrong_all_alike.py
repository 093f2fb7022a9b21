# misconception: all-alike


def copy_query(keys, j):
    return 100 * keys.shape[1] ** 0.5 * keys.sum(dim=0)
