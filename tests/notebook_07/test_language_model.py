"""The language model over source and target joined, and what is exchanged in it."""

import pytest
import torch

from course_utils.data import END, START, Example, encode, load_corpus
from course_utils.language_model.changed_attention import (
    attention_maps,
    changed_accuracy,
    changed_attention,
    sharpness,
)
from course_utils.language_model.drawing import draw_heads, draw_steps
from course_utils.language_model.model import LanguageModel, joined_mask
from course_utils.language_model.training import measure
from course_utils.language_model.writing import Written, translation_figures
from course_utils.transformer.sizes import Sizes


@pytest.fixture
def model():
    torch.manual_seed(0)
    return LanguageModel(20, 15, Sizes(16, 4, 2, 32, 0.0, max_length=40)).eval()


@pytest.mark.parametrize("prefix", [0, 3, 7])
def test_the_mask_is_open_to_the_past_and_inside_the_prefix(prefix):
    mask = joined_mask(7, prefix)
    for i in range(7):
        for j in range(7):
            assert bool(mask[i, j]) == (j <= i or (i < prefix and j < prefix))


def test_a_prefix_longer_than_the_sequence_is_refused():
    with pytest.raises(ValueError, match=r"prefix of 8 .* 7 words"):
        joined_mask(7, 8)


@torch.no_grad()
def test_a_later_word_changes_earlier_scores_only_inside_the_prefix(model):
    joined = torch.randint(20, (2, 8))
    other = joined.clone()
    other[:, 3] = (other[:, 3] + 1) % 20
    causal = (model(joined) - model(other)).abs().amax((0, 2)) > 1e-7
    assert causal.tolist() == [False] * 3 + [True] * 5
    two_way = (model(joined, prefix=4) - model(other, prefix=4)).abs().amax((0, 2)) > 1e-7
    assert two_way.all()


def test_a_sequence_beyond_the_positions_is_refused_with_both_sizes(model):
    with pytest.raises(ValueError, match=r"40 positions.* 41"):
        model(torch.zeros(1, 41, dtype=torch.long))


def test_heads_that_do_not_divide_are_refused_with_both_sizes():
    with pytest.raises(ValueError, match=r"3 heads .* 16"):
        LanguageModel(5, 5, Sizes(16, 3))


@torch.no_grad()
def test_changed_attention_touches_the_target_alone_and_is_undone(model):
    joined = torch.randint(20, (2, 9))
    usual = model(joined)
    for change in ("uniform", "shuffled"):
        with changed_attention(model, 5, change):
            changed = model(joined)
        assert torch.allclose(changed[:, :5], usual[:, :5], atol=1e-5)
        assert not torch.allclose(changed[:, 5:], usual[:, 5:], atol=1e-4)
    assert torch.allclose(model(joined), usual, atol=1e-6)


@torch.no_grad()
def test_uniform_attention_gives_the_mean_of_the_values(model):
    attention = model.layers[0].self_attn
    x = torch.randn(1, 6, 16)
    with changed_attention(model, 4, "uniform", layer=0):
        found, _ = model.layers[0].self_attn(x, x, x, attn_mask=~joined_mask(6))
    W_V, b_V = attention.in_proj_weight[32:], attention.in_proj_bias[32:]
    for row in (4, 5):
        mean = (x[0, : row + 1] @ W_V.T + b_V).mean(0)
        assert torch.allclose(found[0, row], attention.out_proj(mean), atol=1e-5)


@torch.no_grad()
def test_shuffled_attention_sees_the_same_source_in_another_order(model):
    with changed_attention(model, 5, "shuffled", layer=1, seed=3):
        order = model.layers[1].self_attn.order
    assert sorted(order.tolist()) == list(range(5))


def test_maps_are_distributions_that_respect_the_mask(model):
    maps = attention_maps(model, torch.randint(20, (2, 7)), prefix=3)
    assert maps.shape == (2, 2, 4, 7, 7)
    assert torch.allclose(maps.sum(-1), torch.ones(2, 2, 4, 7), atol=1e-5)
    assert (maps[..., ~joined_mask(7, 3)] == 0).all()


def test_accuracy_without_a_change_is_that_of_the_model(model):
    examples = [Example(place, [4, 5, 6], [7, 8]) for place in range(3)]
    found = changed_accuracy(model, examples, False)
    with torch.no_grad():
        scores = model(model.join(torch.tensor([[4, 5, 6]]), torch.tensor([[START, 7, 8]])))
    right = scores[0, 3:].argmax(-1) == torch.tensor([7, 8, END])
    assert found == pytest.approx(float(right.float().mean()))


def test_sharpness_is_the_mean_largest_weight_on_the_source(model):
    one, other = Example(0, [4, 5, 6], [7, 8]), Example(1, [9, 3], [2])
    found = sharpness(model, [one, other])
    assert found.shape == (2, 4)
    maps = attention_maps(model, torch.tensor([[4, 5, 6, START + 20, 27, 28]]))
    first = maps[1, 0, 2, 3:, :3].max(dim=-1).values.mean()
    assert sharpness(model, [one])[1, 2] == pytest.approx(float(first))
    both = (sharpness(model, [one]) + sharpness(model, [other])) / 2
    torch.testing.assert_close(found, both)


def test_the_figures_of_a_translator_say_what_they_leave_out():
    data = encode(load_corpus(builtin_only=True))
    torch.manual_seed(0)
    sizes = Sizes(8, 2, 1, 8, 0.0)
    model = LanguageModel(len(data.source_vocabulary), len(data.target_vocabulary), sizes)
    found = translation_figures(model, data, 3, two_way=True)
    assert found["sentences"] == 0  # it was never trained
    assert found["BLEU"] != found["BLEU"]  # not a number: three sentences are no test set
    assert {k: found[k] for k in ("loss", "accuracy")} == measure(model, data.test, True)


def test_the_pictures_say_in_words_what_they_show():
    slow, fast = Written([1] * 8, [0.001 * n for n in range(1, 9)]), Written([1] * 8, [0.002] * 8)
    words = draw_steps(slow, fast).words
    assert "Without cache: 2.0 and 8.0. With cache: 2.0 and 2.0." in words
    words = draw_heads([("1.1", 0.25, 0.013), ("1.2", 0.75, -0.002)]).words
    assert "1.1: 0.25, 1.3. 1.2: 0.75, -0.2." in words
