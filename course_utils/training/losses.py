"""The loss of a readout over many words, without ever holding all the logits at once.

A readout turns each hidden vector into one logit for every word of the vocabulary. For a batch
of 1,600 words and a vocabulary of 6,000 that is a matrix of 40 MB, and the usual loss makes three
more of that size (log-probabilities, their gradient, the gradient of the logits). Here a few
hundred rows at a time become logits, loss and gradients while they are still in the cache.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

ROWS = 256


class _WordLoss(torch.autograd.Function):
    """The mean cross-entropy; gradients are computed on the way forward, where the logits are."""

    @staticmethod
    def forward(ctx, features: Tensor, weight: Tensor, bias: Tensor, wanted: Tensor) -> Tensor:
        count = len(features)
        total = features.new_zeros(())
        gradients = [torch.empty_like(features), torch.zeros_like(weight), torch.zeros_like(bias)]
        scores = features.new_empty(min(ROWS, count), len(weight))
        for start in range(0, count, ROWS):
            rows = slice(start, start + ROWS)
            some, right = features[rows], wanted[rows, None]
            score = torch.addmm(bias, some, weight.T, out=scores[: len(some)])
            normaliser = score.logsumexp(dim=1, keepdim=True)
            total += (normaliser - score.gather(1, right)).sum()
            # The gradient of the loss with respect to the logits: softmax minus one-hot.
            flow = score.sub_(normaliser).exp_()
            flow.scatter_add_(1, right, flow.new_full(right.shape, -1.0))
            torch.mm(flow, weight, out=gradients[0][rows])
            gradients[1].addmm_(flow.T, some)
            gradients[2] += flow.sum(dim=0)
        ctx.count = count
        ctx.save_for_backward(*gradients)
        return total / count

    @staticmethod
    def backward(ctx, flow: Tensor):
        return *(gradient * (flow / ctx.count) for gradient in ctx.saved_tensors), None


def word_loss(features: Tensor, readout: nn.Linear, wanted: Tensor) -> Tensor:
    """`cross_entropy(readout(features), wanted)`: features [N, D], wanted [N] -> a scalar."""
    if torch.is_grad_enabled():
        return _WordLoss.apply(features, readout.weight, readout.bias, wanted)
    pairs = zip(features.split(ROWS), wanted.split(ROWS), strict=True)
    losses = [F.cross_entropy(readout(x), y, reduction="sum") for x, y in pairs]
    return torch.stack(losses).sum() / len(wanted)
