"""The loss that never holds all scores: the numbers and gradients of the usual one."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_utils.training.losses import ROWS, word_loss


def loss_and_gradients(loss_of, features, readout, wanted):
    readout.zero_grad()
    features = features.clone().requires_grad_()
    loss = loss_of(features, readout, wanted)
    (3 * loss).backward()
    return [loss.detach(), features.grad, readout.weight.grad.clone(), readout.bias.grad.clone()]


def usual(features, readout, wanted):
    return F.cross_entropy(readout(features), wanted)


@pytest.mark.parametrize("count", [1, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS + 7])
def test_loss_and_gradients_are_those_of_cross_entropy(count):
    torch.manual_seed(count)
    readout = nn.Linear(6, 11)
    features, wanted = 5 * torch.randn(count, 6), torch.randint(11, (count,))
    ours = loss_and_gradients(word_loss, features, readout, wanted)
    theirs = loss_and_gradients(usual, features, readout, wanted)
    for mine, his in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, his)


def test_without_gradients_it_is_the_same_number():
    torch.manual_seed(0)
    readout = nn.Linear(6, 11)
    features, wanted = torch.randn(ROWS + 5, 6), torch.randint(11, (ROWS + 5,))
    with torch.no_grad():
        torch.testing.assert_close(
            word_loss(features, readout, wanted), usual(features, readout, wanted)
        )


def test_scores_too_large_for_exp_give_no_nan():
    readout = nn.Linear(2, 3)
    features, wanted = 1e4 * torch.ones(4, 2), torch.tensor([0, 1, 2, 0])
    for value in loss_and_gradients(word_loss, features, readout, wanted):
        assert torch.isfinite(value).all()
