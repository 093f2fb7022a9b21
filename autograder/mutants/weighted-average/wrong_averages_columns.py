# misconception: none
def weighted_average(weights, values):
    return (weights.unsqueeze(1) * values).sum(dim=1) / weights.sum()
