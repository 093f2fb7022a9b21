def weighted_average(weights, values):
    return weights @ values / weights.sum()
