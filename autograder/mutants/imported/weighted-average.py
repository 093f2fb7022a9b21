import numpy as np
import torch


def weighted_average(weights, values):
    return torch.as_tensor(np.average(np.asarray(values), axis=0, weights=np.asarray(weights)))
