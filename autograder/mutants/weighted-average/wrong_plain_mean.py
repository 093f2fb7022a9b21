# misconception: plain-mean
def weighted_average(weights, values):
    return values.mean(dim=0)
