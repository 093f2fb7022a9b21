"""A small trained translator that the tests of this folder share."""

import pytest
import torch

from autograder.reference.translation import SingleQueryScaledDotProductAttention
from course_utils.data import builtin_corpus, encode
from course_utils.training.devices import seed_everything
from course_utils.translation.training import RECIPES, make_translator, train_translator


@pytest.fixture(scope="session")
def data():
    return encode(builtin_corpus())


@pytest.fixture(scope="session")
def trained(data):
    """The smoke budget's model: seconds of training on the built-in corpus."""
    torch.set_num_threads(1)
    recipe = RECIPES["smoke"]
    seed_everything(0)
    size = recipe.sizes.encoder
    attention = SingleQueryScaledDotProductAttention(size, recipe.sizes.decoder, size)
    model = make_translator(data, attention, recipe.sizes)
    history = train_translator(model, data, recipe, show=False)
    return model, history
