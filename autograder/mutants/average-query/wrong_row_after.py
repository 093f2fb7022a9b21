# misconception: another-key


def average_query(keys, a, b):
    return 100 * keys.shape[1] ** 0.5 * (keys[(a + 1) % len(keys)] + keys[(b + 1) % len(keys)])
