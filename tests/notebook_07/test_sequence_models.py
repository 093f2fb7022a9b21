"""RNN, state-space model and transformer: the same by steps, causal, and priced rightly."""

import pytest
import torch

from course_utils.language_model.costs import (
    Cost,
    growth_in_words,
    kept_for_backward,
    kept_numbers,
    off_the_line,
    slope,
)
from course_utils.language_model.drawing import draw_memories, draw_recall
from course_utils.language_model.memory import memory_point
from course_utils.language_model.recall import (
    MeasuredRecall,
    Recall,
    SequenceModel,
    measured_recall,
    recall_accuracy,
)
from course_utils.language_model.sequence_models import (
    KINDS,
    DiagonalSSM,
    KeptWeights,
    Recurrence,
    make_layer,
    run_layer,
)


@pytest.mark.parametrize("mixer", [Recurrence, DiagonalSSM])
@torch.no_grad()
def test_step_by_step_gives_what_all_at_once_gives(mixer):
    torch.manual_seed(0)
    module, x = mixer(8).double(), torch.randn(2, 11, 8, dtype=torch.float64)
    for _ in range(2):  # the second time shows that reset forgets
        module.reset()
        steps = torch.cat([module.step(x[:, t : t + 1]) for t in range(11)], dim=1)
        assert torch.allclose(module(x), steps, atol=1e-10)


@torch.no_grad()
def test_the_convolution_is_the_recurrence_written_out():
    torch.manual_seed(1)
    ssm, x = DiagonalSSM(4, 3).double(), torch.randn(1, 7, 4, dtype=torch.float64)
    log_a, entering, C = ssm.parts(x)
    a, h = log_a.exp(), torch.zeros(3)
    assert (a.abs() < 1).all()
    for t in range(7):
        h = a * h + entering[0, t]
        assert torch.allclose((h @ C.T).real, ssm(x)[0, t], atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_no_kind_sees_the_future(kind):
    torch.manual_seed(0)
    layer, x = make_layer(kind, 16).eval(), torch.randn(1, 9, 16)
    other = x.clone()
    other[:, 5] = torch.randn(16)  # not + 1: the layer norm would take it away
    changed = (run_layer(layer, x) - run_layer(layer, other)).abs().amax((0, 2)) > 1e-4
    assert not changed[:5].any()
    assert changed[5:].all()


def test_an_unknown_kind_is_refused_by_name():
    with pytest.raises(ValueError, match="RNN, SSM, transformer, not 'LSTM'"):
        make_layer("LSTM")


def test_every_answer_of_the_recall_task_is_the_value_that_came_with_the_key():
    keys, values, answers = Recall().batch(12, 5, seed=3)
    for b in range(5):
        pairs = dict(zip(keys[b, :12].tolist(), values[b, :12].tolist()))
        assert len(pairs) == 12
        assert [pairs[key] for key in keys[b, 12:].tolist()] == answers[b].tolist()
        assert (values[b, 12:] == 16).all()


def test_more_pairs_than_keys_are_refused():
    with pytest.raises(ValueError, match="64 keys, so 65 pairs"):
        Recall().batch(65, 1, seed=0)


def test_stored_weights_cost_the_square_of_the_length_and_fused_attention_does_not():
    torch.manual_seed(0)
    lengths = [256, 512, 1024]
    fused = make_layer("transformer", 16)
    stored = make_layer("transformer", 16)
    stored.self_attn = KeptWeights(stored.self_attn)
    kept = {
        name: [kept_for_backward(layer, torch.randn(1, n, 16)) for n in lengths]
        for name, layer in (("fused", fused), ("stored", stored))
    }
    assert slope(lengths, kept["stored"]) > 1.8
    assert 0.9 < slope(lengths, kept["fused"]) < 1.1


def test_the_slope_of_a_power_is_its_exponent():
    lengths = [100, 200, 400, 800]
    assert slope(lengths, [3 * n**1.5 for n in lengths]) == pytest.approx(1.5)


def test_growth_in_words_gives_the_slopes_and_how_well_the_times_fit():
    lengths = [256, 512, 1024]
    exact = [Cost("RNN", n, 0.001 * n, 5.0) for n in lengths]
    assert growth_in_words(exact, "memory") == (
        "RNN: time grows as length^1.0 (the times fit within 0%), memory as length^0.0."
    )
    disturbed = [*exact[:1], Cost("RNN", 512, 5.0, 5.0), *exact[2:]]
    first, last = growth_in_words(disturbed, "memory").splitlines()
    assert "within 0%" not in first
    assert last.endswith("measure again.")


def test_points_off_the_line_are_measured_by_the_farthest():
    assert off_the_line([1, 2, 4], [3, 6, 12]) == pytest.approx(0, abs=1e-9)
    # The middle one is twice what it should be: the line goes up by a third of that (in logarithms).
    assert off_the_line([1, 2, 4], [3, 12, 12]) == pytest.approx(2 ** (2 / 3) - 1)


@torch.no_grad()
def test_numbers_kept_are_those_of_the_state():
    ssm = DiagonalSSM(8, 6)
    assert kept_numbers(ssm) == 0
    ssm.step(torch.randn(1, 1, 8))
    assert kept_numbers(ssm) == 12  # six complex numbers


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_a_transformer_keeps_grows(kind):
    model = SequenceModel(kind, Recall())
    grows = model.numbers_kept(20) > model.numbers_kept(10)
    assert grows == (kind == "transformer")


def test_the_stored_recall_is_read_by_model_and_number_of_pairs():
    found = measured_recall()
    assert found.pairs == [2, 4, 8, 16, 32]
    assert list(found.models) == ["RNN", "SSM", "selective SSM", "transformer"]
    assert all(len(shares) == 5 for shares in (*found.models.values(), found.no_keys))
    # What the text says of it.
    pairs = list(zip(found.pairs, found.models["SSM"], found.no_keys))
    assert all(share <= line + 0.01 for n, share, line in pairs if n >= 4)
    assert min(found.models["selective SSM"][:4]) > 0.95
    assert len(set(found.numbers_kept["selective SSM"])) == 1
    assert found.numbers_kept["transformer"][-1] > found.numbers_kept["transformer"][0]


def test_recall_is_counted_against_the_right_answers():
    task = Recall(16, 4)
    model = SequenceModel("transformer", task)
    keys, values, answers = task.batch(5, 200, seed=7)
    with torch.no_grad():
        right = model.eval()(keys, values).argmax(-1) == answers
    assert recall_accuracy(model, task, 5) == pytest.approx(float(right.float().mean()))


def test_the_pictures_of_recall_say_in_words_what_they_show():
    kept = {"RNN": [3, 3], "SSM": [5, 5]}
    shares = {"RNN": [0.5, 0.25], "SSM": [0.6, 0.3]}
    words = draw_recall(MeasuredRecall([2, 4], shares, kept, [0.4, 0.2])).words
    assert "RNN: 2 pairs 50%, 4 pairs 25%. SSM: 2 pairs 60%, 4 pairs 30%. no keys: 2" in words
    points = [memory_point("attention", 4, n, trials=2) for n in (2, 4, 8)]
    assert "attention: 2 pairs 0.00, 8 pairs" in draw_memories(points).words
