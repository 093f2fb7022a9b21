# misconception: not-divided
def weighted_average(weights, values):
    return weights @ values
