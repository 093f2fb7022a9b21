def copy_query(keys, j):
    keys = keys.numpy()
    return 500.0 * keys[j]
