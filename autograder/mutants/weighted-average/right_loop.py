def weighted_average(weights, values):
    total = 0
    for weight, value in zip(weights, values):
        total = total + weight * value
    return total / sum(weights)
