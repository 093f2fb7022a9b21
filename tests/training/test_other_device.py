"""Every way to train, on a device that is not the CPU: a tensor left behind stops it.

There is no GPU where the tests run. PyTorch's "meta" device takes its place: it computes shapes
alone, and refuses to mix its tensors with the CPU's, as a GPU does.
"""

import dataclasses

import pytest
import torch
from torch.overrides import TorchFunctionMode

from autograder.solutions import solution
from course_utils.data import builtin_corpus, encode
from course_utils.language_model import byte_training
from course_utils.language_model.training import train_language_model
from course_utils.recurrent import reversal
from course_utils.training import loop
from course_utils.training.recipe import Recipe
from course_utils.transformer.sizes import Sizes
from course_utils.transformer.training import make_transformer, train_transformer
from course_utils.translation.model import Widths
from course_utils.translation.training import make_translator, train_translator

# The best weights are put back at the end: PyTorch says that meta tensors can't take them.
pytestmark = pytest.mark.filterwarnings("ignore:for .* copying from a non-meta parameter")

SIZES = Sizes(d_model=8, num_heads=2, num_layers=1, d_ff=8, dropout=0.1, max_length=80)


class WithoutNumbers(TorchFunctionMode):
    """Meta tensors hold no numbers: what asks for one gets a one, what copies gets ones."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if not (args and isinstance(args[0], torch.Tensor) and args[0].is_meta):
            return func(*args, **(kwargs or {}))
        if name == "__bool__":
            return False  # no row of a mask is empty
        if name in ("__float__", "item"):
            return 1.0
        if name == "__int__":
            return 1
        if name == "cpu":
            return torch.ones(args[0].shape, dtype=args[0].dtype)
        if name == "__getitem__" and getattr(args[1], "dtype", None) is torch.bool:
            # How many are chosen depends on numbers: here it is all of them.
            assert args[1].is_meta, "the mask is on another device"
            return args[0].flatten(0, args[1].dim() - 1)
        return func(*args, **(kwargs or {}))


@pytest.fixture(scope="module")
def data():
    whole = encode(builtin_corpus())
    return dataclasses.replace(whole, train=whole.train[:40], valid=whole.valid[:10])


def recurrent_translator(data):
    model = make_translator(data, solution("single-query-attention")(8, 8, 8), Widths(8, 8, 8, 0.1))
    return train_translator(model, data, Recipe(epochs=1, batch_size=16), show=False)


def transformer(data):
    model = make_transformer(solution("transformer"), data, SIZES)
    recipe = Recipe(epochs=1, batch_size=200, smoothing=0.1, average=5, sizes=SIZES)
    return train_transformer(model, data, recipe, show=False)


def language_model(data):
    recipe = Recipe(epochs=1, batch_size=16, sizes=SIZES)
    return train_language_model(data, recipe, two_way=True, show=False)[1]


def model_of_bytes(data):
    model = solution("decoder-only-model")(256, 8, 2, 1, 8, 16)
    recipe = byte_training.ByteRecipe(8, 2, 1, 16, rounds=1, steps=2, batch_size=3)
    text = bytes(range(256)) * 2
    loss = solution("shifted-targets")
    return byte_training.train_on_bytes(model, text, loss, recipe, held_out=text, show=False)


def reversing(data):
    model = reversal.make_model(lambda: solution("dot-prod-attention")(reversal.HIDDEN))
    return reversal.train(model, budget="smoke", epochs=1, show=False)


EVERY_WAY = [recurrent_translator, transformer, language_model, model_of_bytes, reversing]


@pytest.fixture
def elsewhere(monkeypatch):
    monkeypatch.setattr(loop, "choose_device", lambda device=None: torch.device("meta"))
    with WithoutNumbers():
        yield


@pytest.mark.parametrize("train", EVERY_WAY)
def test_training_leaves_no_tensor_on_the_cpu(train, data, elsewhere):
    history = train(data)
    assert (len(history.records), history.device) == (1, "meta")


@pytest.mark.parametrize("train", EVERY_WAY)
def test_a_batch_that_stays_on_the_cpu_stops_it(train, data, elsewhere, monkeypatch):
    """Else the test above could not fail."""
    monkeypatch.setattr(loop, "move", lambda batch, device: batch)
    with pytest.raises((RuntimeError, AssertionError), match="device"):
        train(data)
