"""The mean of a model's parameters over the last steps of training.

The parameters after single steps scatter around a good point; their mean is closer to it.
"""

import copy

import torch
from torch import nn


class RunningMean:
    """A copy of a model that holds the mean of its parameters over about the last `span` steps.

    Early on, the parameters still move far, so the mean covers a tenth of the steps so far.
    """

    def __init__(self, model: nn.Module, span: int) -> None:
        if span < 1:
            raise ValueError(f"average must be at least one step, but it is {span}.")
        self.span = span
        self.mean = copy.deepcopy(model)

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Take in the parameters after step number `step`, which counts from 1."""
        share = max(1 / self.span, 1 / (1 + step / 10))
        for mean, latest in zip(self.mean.parameters(), model.parameters(), strict=True):
            mean.lerp_(latest, share)
        for kept, newest in zip(self.mean.buffers(), model.buffers(), strict=True):
            kept.copy_(newest)
