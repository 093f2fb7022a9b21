"""The channel of a known size: its bound, its bits, and that a trained model obeys it."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_utils.recurrent.capacity import bits_needed, bound, keep_the_first
from course_utils.recurrent.channel import MessagePerSymbol, OneMessage, channel_point, to_bits


@pytest.mark.parametrize(("bits", "share"), [(2, 0.71), (1, 0.49), (4, 1.0), (9, 1.0)])
def test_the_line_has_the_known_values_for_sixteen_symbols(bits, share):
    assert bound(bits, 16) == pytest.approx(share, abs=0.005)


def test_no_bits_leave_only_guessing():
    assert bound(0.0, 16) == pytest.approx(1 / 16, abs=1e-6)


@given(rate=st.floats(0.01, 3.99), alphabet=st.integers(17, 64))
def test_the_line_is_where_the_bits_are_used_up(rate, alphabet):
    share = bound(rate, alphabet)
    assert 1 / alphabet <= share < 1
    assert bits_needed(share, alphabet) == pytest.approx(rate, abs=1e-6)


@given(bits=st.integers(1, 64), length=st.integers(1, 32))
def test_keeping_the_first_symbols_never_crosses_the_line(bits, length):
    assert keep_the_first(bits, length) <= bound(bits / length) + 1e-9


def test_half_the_bits_keep_half_the_symbols_and_guess_the_rest():
    assert keep_the_first(16, 8) == pytest.approx(0.5 + 0.5 / 16)


def test_what_is_sent_is_binary_in_training_and_in_the_test():
    x = torch.tensor([-3.0, -0.2, 0.0, 0.4, 7.0], requires_grad=True)
    assert to_bits(x).tolist() == [-1, -1, 1, 1, 1]
    to_bits(x).sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 1, 0]


@pytest.mark.parametrize("kind", [OneMessage, MessagePerSymbol])
def test_the_decoder_gets_nothing_but_the_bits(kind):
    torch.manual_seed(0)
    model, seen = kind(bits=8, length=5), []
    model.decoder.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    if kind is MessagePerSymbol:  # attention to one place alone, so that no bits are mixed
        model.queries.data = 100 * torch.eye(5, 32)
        model.keys.data = torch.eye(5, 32)
    scores = model.eval()(torch.randint(16, (3, 5)))
    assert scores.shape == (3, 5, 16)
    assert seen[0].shape[-1] == 8
    assert torch.allclose(seen[0].abs(), torch.ones_like(seen[0]))


def test_only_with_attention_the_bits_grow_with_the_text():
    assert [OneMessage(8, length).bits_sent for length in (2, 16)] == [8, 8]
    assert [MessagePerSymbol(8, length).bits_sent for length in (2, 16)] == [16, 128]


def test_a_trained_channel_stays_below_the_line_and_above_guessing():
    point = channel_point("one message", 4, 2, steps=60)
    assert 1 / 16 < point.share_right <= point.bound == pytest.approx(bound(2), abs=1e-4)
    assert math.isclose(point.bits_per_symbol, 2)
