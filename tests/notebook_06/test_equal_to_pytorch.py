"""The reference answers of notebook 06 against torch.nn.Transformer, and their refusals."""

import textwrap

import pytest
import torch
from torch import nn

from autograder.solutions import solution
from course_utils.checks import judge
from course_utils.notebook import judge_here
from course_utils.register import exercises
from course_utils.transformer.comparisons import as_pytorchs, by_pytorchs_names, gradient_sizes
from course_utils.transformer.multi_head import MultiHeadAttention, output_changed, recording

ANSWERS = {n: solution(e.id, n) for e in exercises("06_transformer") if e.checked for n in e.names}


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_the_transformer_equals_torchs_with_its_weights(norm_first, training):
    torch.manual_seed(3)
    ours = ANSWERS["Transformer"](16, 4, 3, 24, 13, 17, norm_first).train(training)
    for parameter in ours.parameters():  # norms and biases start as ones and zeros: shake them
        nn.init.normal_(parameter, std=0.3)
    theirs = as_pytorchs(ours, 4, norm_first).train(training)
    source, target = torch.randint(1, 13, (3, 7)), torch.randint(1, 17, (3, 5))
    mask = torch.arange(7)[None] < torch.tensor([7, 4, 2])[:, None]
    with torch.set_grad_enabled(training):
        x = theirs(
            ours.embed(source, ours.source_embedding, ours.source_positions),
            ours.embed(target, ours.target_embedding, ours.target_positions),
            tgt_mask=torch.ones(5, 5, dtype=torch.bool).triu(1),
            src_key_padding_mask=~mask,
            memory_key_padding_mask=~mask,
        )
        difference = (ours(source, target, mask) - ours.readout(x)).abs().max()
    assert difference < 1e-5


def test_the_gradients_of_both_agree():
    torch.manual_seed(4)
    ours = ANSWERS["Transformer"](8, 2, 2, 12, 9, 9, True).double()
    theirs = as_pytorchs(ours, 2, True).double()
    source, target = torch.randint(1, 9, (2, 4)), torch.randint(1, 9, (2, 3))
    ours(source, target).sum().backward()
    embedded = [
        ours.embed(source, ours.source_embedding, ours.source_positions),
        ours.embed(target, ours.target_embedding, ours.target_positions),
    ]
    causal = torch.ones(3, 3, dtype=torch.bool).triu(1)
    ours.readout(theirs(*embedded, tgt_mask=causal)).sum().backward()
    mine = by_pytorchs_names(dict(ours.named_parameters()))
    for name, parameter in theirs.named_parameters():
        torch.testing.assert_close(mine[name].grad, parameter.grad, atol=1e-8, rtol=1e-6)


def test_a_sequence_beyond_the_positions_is_refused_with_both_numbers():
    model = ANSWERS["Transformer"](8, 2, 1, 8, 9, 9, max_length=5)
    with pytest.raises(ValueError, match=r"6.*5"):
        model(torch.ones(1, 6).long(), torch.ones(1, 2).long())
    with pytest.raises(ValueError, match=r"7.*5"):
        model(torch.ones(1, 2).long(), torch.ones(1, 7).long())


@pytest.mark.parametrize(
    "mask", [torch.ones(2, 4), torch.ones(2, 5).bool(), torch.zeros(2, 4).bool()]
)
def test_a_source_mask_that_cannot_work_is_refused(mask):
    model = ANSWERS["Transformer"](8, 2, 1, 8, 9, 9)
    with pytest.raises((TypeError, ValueError)):
        model(torch.ones(2, 4).long(), torch.ones(2, 3).long(), mask)


def test_heads_that_do_not_divide_the_size_are_refused():
    with pytest.raises(ValueError, match=r"d_model = 10 .* num_heads = 4"):
        ANSWERS["EncoderLayer"](10, 4, 8)


def test_words_under_padding_and_longer_neighbours_change_nothing():
    torch.manual_seed(0)
    model = ANSWERS["Transformer"](16, 4, 2, 24, 13, 13).eval()
    target = torch.randint(1, 13, (1, 4))
    alone = torch.randint(1, 13, (1, 3))
    padded = torch.cat([alone, torch.randint(1, 13, (1, 5))], dim=1)
    mask = torch.arange(8)[None] < 3
    torch.testing.assert_close(model(alone, target), model(padded, target, mask), atol=1e-5, rtol=0)


def test_recording_keeps_the_maps_inside_the_block_only():
    torch.manual_seed(0)
    model = ANSWERS["Transformer"](8, 2, 2, 8, 9, 9).eval()
    source, target = torch.randint(1, 9, (1, 5)), torch.randint(1, 9, (1, 3))
    plain = model(source, target)
    with recording(model) as maps:
        recorded = model(source, target)
    torch.testing.assert_close(plain, recorded, atol=1e-5, rtol=0)
    assert len(maps) == 6
    for name, calls in maps.items():
        assert len(calls) == 1
        torch.testing.assert_close(calls[0].sum(-1), torch.ones(calls[0].shape[:-1]))
        assert calls[0].shape[1] == 2, name
    model(source, target)
    assert all(len(calls) == 1 for calls in maps.values())
    assert not any(m.gives_weights for m in model.modules() if isinstance(m, MultiHeadAttention))


@pytest.mark.parametrize("mask", [None, "[T, S]", "[B, T, S]", "[B, 1, S]"])
def test_the_output_is_the_same_with_its_weights_and_without(mask):
    torch.manual_seed(0)
    B, T, S = 3, 4, 5
    attention = MultiHeadAttention(16, 4)
    nn.init.normal_(attention.in_proj_bias)  # it starts at zero, which would hide a mistake
    query, key, value = torch.randn(B, T, 16), torch.randn(B, S, 16), torch.randn(B, S, 16)
    shape = {"[T, S]": (T, S), "[B, T, S]": (B, T, S), "[B, 1, S]": (B, 1, S)}.get(mask, ())
    allowed = (torch.rand(shape) < 0.6) | (torch.arange(S) == 0) if mask else None
    plain, nothing = attention(query, key, value, allowed)
    with recording(attention):
        seen, weights = attention(query, key, value, allowed)
    assert nothing is None and weights.shape == (B, 4, T, S)
    torch.testing.assert_close(plain, seen)


def test_the_norm_after_keeps_the_spread_and_the_norm_first_lets_it_grow():
    def at(norm_first, layers):
        runs = [gradient_sizes(ANSWERS["EncoderLayer"], norm_first, layers, s) for s in range(3)]
        return torch.tensor(runs).mean(dim=0)

    (_, top_after, spread_after), (_, top_first, spread_first) = at(False, 16), at(True, 16)
    assert 0.9 < spread_after < 1.1
    assert spread_first > 2
    assert top_first < 0.5 * at(True, 2)[1]
    assert top_after > 0.7 * at(False, 2)[1]


def test_pytorchs_transformer_is_no_answer_to_the_exercise():
    source = """
    class Transformer(Given):
        def forward(self, source, target, source_mask=None):
            theirs = as_pytorchs(self, 2, False)
            return self.readout(theirs(source.float(), target.float()))
    """
    namespace = {"Given": ANSWERS["Transformer"], "as_pytorchs": as_pytorchs}
    exec(textwrap.dedent(source), namespace)
    verdict = judge_here(judge.make_plan("transformer"), namespace)
    assert verdict.points == 0
    assert any("Write it yourself" in finding.message for finding in verdict.findings)


def test_the_output_matrix_is_changed_inside_the_block_only():
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2).eval()
    x = torch.randn(1, 5, 8)
    usual = attention(x, x, x)[0]
    with output_changed(attention, torch.zeros_like):
        silent = attention(x, x, x)[0]
    torch.testing.assert_close(silent, attention.out_proj.bias.expand(1, 5, 8))
    torch.testing.assert_close(attention(x, x, x)[0], usual)


def test_the_output_matrix_comes_back_after_an_error():
    attention = MultiHeadAttention(8, 2)
    before = attention.out_proj.weight.detach().clone()
    with (
        pytest.raises(RuntimeError, match="stopped"),
        output_changed(attention, torch.zeros_like),
    ):
        raise RuntimeError("stopped")
    assert torch.equal(attention.out_proj.weight, before)


def test_a_change_that_writes_into_the_matrix_it_is_given_does_not_last():
    attention = MultiHeadAttention(8, 2)
    before = attention.out_proj.weight.detach().clone()
    with output_changed(attention, torch.Tensor.zero_):
        assert not attention.out_proj.weight.any()
    assert torch.equal(attention.out_proj.weight, before)
