# misconception: divided-by-count
def weighted_average(weights, values):
    return weights @ values / len(weights)
