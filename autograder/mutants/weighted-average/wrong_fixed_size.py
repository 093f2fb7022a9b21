# misconception: none
def weighted_average(weights, values):
    w, v = weights, values
    return (w[0] * v[0] + w[1] * v[1] + w[2] * v[2]) / weights.sum()
