"""What notebook 02 says in words holds for five seeds, and the stored figures can be made again."""

import importlib.util
from pathlib import Path

import pytest
import torch

from course_utils.recurrent.bottleneck import load_steps
from course_utils.recurrent.capacity import load_channel
from course_utils.recurrent.channel import TEST_TEXTS

ROOT = Path(__file__).parents[2]


def command(name):
    """One of the measuring commands, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


claims = command("bottleneck_claims")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def measured(experiment, variant, figure):
    """The figure for each of the five seeds."""
    found = {
        row["seed"]: row["value"]
        for row in claims.load()
        if (row["experiment"], row["variant"], row["figure"]) == (experiment, variant, figure)
    }
    assert sorted(found) == list(claims.SEEDS), "run benchmarks/bottleneck_claims.py to the end"
    return list(found.values())


def test_no_run_is_there_twice():
    lines = [(r["experiment"], r["variant"], r["seed"], r["figure"]) for r in claims.load()]
    assert len(lines) == len(set(lines))


def test_all_five_seeds_are_measured():
    runs = {(r["experiment"], r["variant"], r["seed"]) for r in claims.load()}
    longer = set(claims.longer_runs(claims.CAN_BE_LONGER))
    assert set(claims.runs()) <= runs <= set(claims.runs()) | longer


def test_an_attempt_to_refute_trains_ten_times_as_long_and_its_lines_say_so(monkeypatch):
    asked = []

    def train(task, *, steps, **how):
        asked.append(steps)
        raise InterruptedError

    monkeypatch.setattr(claims, "train", train)
    for experiment in claims.CAN_BE_LONGER:
        variant = claims.EXPERIMENTS[experiment][1][0]
        for name in (experiment, experiment + claims.LONGER):
            with pytest.raises(InterruptedError):
                claims.measure((name, variant, 0))
        assert asked[-1] == 10 * asked[-2]
        assert (experiment + claims.LONGER, variant, 2) in claims.longer_runs([experiment])


def test_the_gradient_vanishes_in_the_vanilla_rnn_alone():
    assert max(measured("gradients", "rnn", "first over last")) < 1e-3
    assert min(measured("gradients", "gru", "first over last")) > 1e-2
    assert min(measured("gradients", "attention", "first over last")) > 1e-1


def test_the_vanilla_rnn_keeps_the_last_letter_and_the_gru_some_of_each():
    assert min(measured("probing", "rnn", "letter 8")) > 0.9
    assert max(measured("probing", "rnn", "letter 1")) < 0.2
    assert min(measured("probing", "gru", "letter 1")) > 0.3


def test_the_case_of_a_letter_is_mostly_gone_from_the_bottleneck():
    for cell in ("rnn", "gru"):
        assert max(measured("probing", cell, "case")) < 0.65


def test_with_attention_the_states_carry_the_text_and_the_bottleneck_does_not():
    def of(figure):
        return measured("taken apart", "attention", figure)

    for whole, zero, other, equal in zip(
        of("as it is"), of("bottleneck zero"), of("states swapped, other"), of("equal weights")
    ):
        assert whole > 0.9
        assert zero > whole - 0.1
        assert other > whole - 0.1
        assert equal < 0.3


def test_without_recurrence_only_positions_find_the_place():
    assert max(measured("placing", "none", "weight")) < 0.15
    for table in ("one-hot", "sine appended", "sine added"):
        assert min(measured("placing", table, "weight")) > 0.5


def test_counting_fails_without_a_blank_and_works_with_one():
    assert max(measured("counting", "no blank", "exact")) < 0.05
    assert min(measured("counting", "blank", "exact")) > 0.95


def test_a_recurrent_encoder_removes_spaces_without_a_blank_and_both_lose_beyond_16():
    assert min(measured("recurrent spaces", "no blank", "exact 16")) > 0.3
    for variant in ("no blank", "blank"):
        inside = measured("recurrent spaces", variant, "exact 16")
        outside = measured("recurrent spaces", variant, "exact 24")
        assert all(a > b for a, b in zip(inside, outside))


def test_more_steps_do_what_a_larger_state_does():
    def after(hidden, steps):
        key = ("decay", hidden, steps)
        return [r.share_right for r in load_steps() if (r.schedule, r.hidden, r.steps) == key]

    assert max(after(32, 1000)) < min(after(128, 1000))
    assert min(after(32, 10_000)) > 0.8


def test_no_run_crosses_the_line_and_the_cliff_moves_with_the_bits():
    one = [r for r in load_channel() if r.model == "one message"]
    for run in one:
        scatter = (run.bound * (1 - run.bound) / (TEST_TEXTS * run.length)) ** 0.5
        assert run.share_right <= run.bound + 4 * scatter
    for bits, fits in ((8, 2), (16, 4)):
        shares = {
            n: [r.share_right for r in one if (r.bits, r.length) == (bits, n)]
            for n in (fits, 2 * fits)
        }
        assert min(shares[fits]) > 0.95
        assert max(shares[2 * fits]) < 0.4


def test_with_attention_what_is_carried_grows_with_the_text():
    runs = [r for r in load_channel() if (r.model, r.bits) == ("attention", 8)]
    assert {r.length for r in runs} == {2, 4, 8, 16}
    assert min(r.share_right for r in runs) > 0.99


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.thorough) for seed in claims.SEEDS]
)
def test_counting_measured_again_fails_without_a_blank_and_works_with_one(seed):
    assert claims.counting("no blank", seed)["exact"] < 0.05
    assert claims.counting("blank", seed)["exact"] > 0.95
