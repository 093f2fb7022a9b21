# misconception: none
def add_block(largest, total, summed, query, keys, values):
    raise NotImplementedError
