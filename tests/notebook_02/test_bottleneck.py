"""The measurements of notebook 02 measure what they say."""

import re

import pytest
import torch
import torch.nn.functional as F

from course_utils.data.string_tasks import change_case
from course_utils.figures.bottleneck_plots import curves, results, spread, steps_chart, table
from course_utils.figures.encoder_decoder import encoder_decoder, one_to_one
from course_utils.recurrent import bottleneck
from course_utils.recurrent.bottleneck import (
    StepsPoint,
    accuracy,
    alignment,
    gradient_by_step,
    load_measured,
    probe_bottleneck,
    stored_probes,
    train,
)
from course_utils.recurrent.seq2seq import Seq2Seq
from course_utils.training.devices import seed_everything


def dot_product(query, states):
    weights = torch.softmax(query @ states.transpose(1, 2), dim=-1)
    return weights @ states, weights


def small(cell="rnn", **slots):
    seed_everything(0)
    return Seq2Seq(len(change_case().tokens), hidden=16, embed=8, cell=cell, **slots)


def test_a_probe_reads_what_is_there_and_guesses_what_is_not():
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 4, (3000, 1), generator=generator)
    vectors = torch.randn(3000, 12, generator=generator)
    hidden = F.one_hot(labels[:, 0], 4).float() @ torch.randn(4, 12, generator=generator)
    (found,) = bottleneck._linear_probe(vectors * 0.1 + hidden, labels, 1500)
    (guessed,) = bottleneck._linear_probe(vectors, labels, 1500)
    assert found > 0.99
    assert guessed < 0.35


def test_a_probe_leaves_out_rows_that_do_not_count():
    labels = torch.tensor([[0], [1]] * 300)
    vectors = F.one_hot(labels[:, 0], 2).float()
    broken = labels.clone()
    broken[::6] = 1 - broken[::6]
    counts = torch.ones_like(labels, dtype=torch.bool)
    counts[::6] = False
    assert bottleneck._linear_probe(vectors, broken, 300, counts=counts) == [1.0]


def test_probing_a_model_gives_a_figure_for_the_prompt_and_each_place():
    found = probe_bottleneck(small("lstm"), change_case(), 3, lines=200)
    assert {key: len(values) for key, values in found.items()} == {
        "prompt": 1,
        "letter": 3,
        "case": 3,
    }
    assert all(0 <= value <= 1 for values in found.values() for value in values)


@pytest.mark.parametrize("attention", [None, dot_product])
def test_gradients_by_step_are_those_of_the_loss_at_each_state(attention):
    task, model = change_case(), small(attention=attention)
    batch = task.draw(4, 5, seed=1)
    norms = gradient_by_step(model, batch)
    assert len(norms) == 6
    states, hidden = model.encode(batch.source)
    hidden = hidden.detach().requires_grad_()
    logits, _, _ = model.decode(states.detach(), hidden, batch.given)
    F.cross_entropy(logits.flatten(0, 1), batch.wanted.flatten()).backward()
    last = float(hidden.grad[0].norm(dim=-1).mean()) * 4
    if attention is None:
        assert norms[-1] == pytest.approx(last, rel=1e-4)
        assert norms[0] < norms[-1]
    else:  # the last state is also attended to, so more than the bottleneck's share arrives
        assert norms[-1] != pytest.approx(last, rel=1e-3)


@pytest.mark.parametrize("place", ["start", "end", "both", "each step", "decoder"])
def test_alignment_is_the_weight_on_the_state_of_the_same_character(place):
    task = change_case(place=place)

    def diagonal(query, states):
        offset = int(place in ("start", "both"))
        rows = torch.arange(query.shape[1]) + offset
        weights = F.one_hot(rows.clamp(max=states.shape[1] - 1), states.shape[1]).float()
        return weights.expand(len(query), -1, -1) @ states, weights.expand(len(query), -1, -1)

    assert alignment(small(attention=diagonal), task, 6) == 1.0


def test_training_repeats_for_a_seed():
    task = change_case()
    first, second = (train(task, lengths=[3], steps=20, seed=3, hidden=16)[0] for _ in range(2))
    assert accuracy(first, task, 3) == accuracy(second, task, 3)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters()))


def test_a_spread_tells_mean_lowest_and_highest():
    assert spread([0.5, 0.7, 0.9]) == "70% (50% to 90%)"
    assert spread([1.0]) == "100%"
    assert spread([0.999, 1.0]) == "100%"


@pytest.mark.parametrize("picture", [one_to_one(), encoder_decoder(), encoder_decoder(True)])
def test_drawings_carry_their_words_and_stay_inside_their_frame(picture):
    assert 'role="img"' in picture.html and len(picture.words) > 100
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', picture.html).groups())
    for x, y in re.findall(
        r'<(?:text|rect)(?: class="[^"]*")? x="([\d.-]+)" y="([\d.-]+)"', picture.html
    ):
        assert 0 <= float(x) <= width and 0 <= float(y) <= height


def test_plots_and_tables_have_a_text_alternative():
    plot = curves({"a": [0.1, 0.9]}, [1, 2], x_label="length", y_label="accuracy")
    assert 'aria-label="accuracy against length. a: from 0.1 to 0.9."' in plot.html
    shown = table({("row", "x"): [0.2, 0.4], ("row", "y"): [1.0]}, "what")
    assert "30% (20% to 40%)" in shown.html
    assert shown.words == "row: x 30% (20% to 40%), y 100%"


def test_smoke_shows_stored_figures_and_says_so():
    mine, stored = {("a", "x"): [0.1]}, {("a", "x"): [0.8, 0.9]}
    smoke = results(mine, stored, "what", "smoke")
    assert "Stored figures from the course's own runs, 2 seeds each." in smoke.words
    assert "85% (80% to 90%)" in smoke.html and "10%" not in smoke.html
    quick = results(mine, stored, "what", "quick")
    assert "The models that you just trained, 1 seed each." in quick.words and "10%" in quick.html
    assert "85%" not in quick.html


def test_the_curve_of_steps_has_a_line_with_its_spread_for_each_size():
    points = [
        StepsPoint("decay", hidden, seed, steps, hidden / 100 + seed / 10)
        for hidden in (16, 32)
        for seed in (0, 1)
        for steps in (1000, 2000)
    ] + [StepsPoint("constant", 64, 0, 1000, 0.9)]
    chart = steps_chart([p for p in points if p.schedule == "decay"], "decay")
    assert chart.html.count("<polyline") == 2 and chart.html.count("<polygon") == 2
    assert "D = 16: from 0.21 to 0.21" in chart.words and "D = 64" not in chart.words


def test_stored_figures_come_by_variant_with_a_value_per_seed():
    found = load_measured("placing")
    assert len(found["one-hot", "weight"]) == 5
    with pytest.raises(ValueError, match="no experiment 'nothing'"):
        load_measured("nothing")


def test_stored_probes_have_the_shape_of_fresh_ones():
    model, task = small(), change_case()
    fresh = probe_bottleneck(model, task, 8, lines=40)
    for found in stored_probes().values():
        assert {name: len(values) for name, values in found.items() if name != "case"} == {
            "prompt": len(fresh["prompt"]),
            "letter": len(fresh["letter"]),
        }
        assert all(0 <= share <= 1 for share in found["letter"])
