"""Batches have every pair once, with sources of one length or padded."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils.data.batches import Example, length_batches, make_batch, padded_batches
from course_utils.data.tokens import END, PAD, START

pairs = st.lists(
    st.tuples(
        st.lists(st.integers(4, 9), min_size=1, max_size=5),
        st.lists(st.integers(4, 9), min_size=1, max_size=7),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=40, deadline=None)
@given(pairs, st.integers(1, 8), st.sampled_from([None, 0, 1]))
def test_every_pair_is_in_one_batch_as_it_was(pairs, size, seed):
    examples = [Example(i, source, target) for i, (source, target) in enumerate(pairs)]
    seen = []
    for batch in length_batches(examples, size, seed):
        assert len(batch.source) <= size
        assert batch.source_mask.all()
        seen += batch.places
        assert_holds_pairs(batch, pairs)
    assert sorted(seen) == list(range(len(pairs)))


@settings(max_examples=40, deadline=None)
@given(pairs, st.integers(8, 40), st.sampled_from([None, 0, 1]))
def test_padded_batches_have_every_pair_once_and_not_too_many_words(pairs, words, seed):
    examples = [Example(i, source, target) for i, (source, target) in enumerate(pairs)]
    seen = []
    for batch in padded_batches(examples, words, seed):
        assert batch.wanted.numel() <= words
        assert torch.equal(batch.source_mask, batch.source != PAD)
        seen += batch.places
        assert_holds_pairs(batch, pairs)
    assert sorted(seen) == list(range(len(pairs)))


def assert_holds_pairs(batch, pairs):
    """Each row is its pair, and behind the pair is nothing but padding."""
    for row, place in enumerate(batch.places):
        source, target = pairs[place]
        for found, expected in (
            (batch.source, source),
            (batch.given, [START, *target]),
            (batch.wanted, [*target, END]),
        ):
            assert found[row, : len(expected)].tolist() == expected
            assert (found[row, len(expected) :] == PAD).all()


def test_a_seed_repeats_and_another_seed_differs():
    examples = [Example(i, [4] * (1 + i % 3), [5] * (1 + i % 4)) for i in range(60)]
    order = [[b.places for b in length_batches(examples, 8, seed)] for seed in (1, 1, 2)]
    assert order[0] == order[1] != order[2]


def test_little_of_a_batch_is_padding():
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(5, 25, (2000, 2), generator=generator).tolist()
    examples = [Example(i, [4] * s, [5] * (s // 2 + t // 2)) for i, (s, t) in enumerate(lengths)]
    batches = length_batches(examples, 64, seed=0)
    real = sum(batch.words for batch in batches)
    assert real / sum(batch.wanted.numel() for batch in batches) > 0.85


def test_sources_of_two_lengths_do_not_make_a_batch():
    with pytest.raises(ValueError, match=r"the same length, but these have \[1, 2\]"):
        make_batch([Example(0, [4], [5]), Example(1, [4, 4], [5])])
