"""The two checked exercises of notebook 07: right answers pass, wrong ones are named."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from autograder import oracles
from course_utils.checks import judge, panel, probes, wire
from course_utils.checks.exercises import sample_next

MUTANTS = Path(__file__).parents[2] / "autograder" / "mutants"
EXERCISES = ("cached-self-attention", "sample-next")
FILES = sorted(file for name in EXERCISES for file in (MUTANTS / name).glob("*.py"))
SEEDS = (11, 12, 13)


def verdict_on(exercise: str, code: str, seeds=SEEDS):
    namespace = {"__name__": "student"}
    exec(compile(code, "answer.py", "exec"), namespace)
    plan = judge.make_plan(exercise, seeds)
    frame = probes.answer(wire.pack_request({exercise: plan.flat}), namespace)
    return judge.verdict(plan, wire.unpack_response(frame)[exercise])


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
@pytest.mark.parametrize("seeds", [judge.VISIBLE_SEEDS, SEEDS], ids=["visible", "fresh"])
def test_each_answer_gets_the_verdict_that_its_name_says(file, seeds):
    code = file.read_text(encoding="utf-8")
    verdict = verdict_on(file.parent.name, code, seeds)
    assert verdict.passed == file.stem.startswith("right"), panel.text(verdict)
    wanted = code.splitlines()[0].removeprefix("# misconception: ")
    if file.stem.startswith("wrong") and wanted != "none":
        assert verdict.misconception == wanted


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_answer_that_does_nothing_earns_nothing(exercise):
    code = {
        "cached-self-attention": (
            "from torch import nn\n"
            "class CachedSelfAttention(nn.Module):\n"
            "    def __init__(self, d_model, num_heads):\n"
            "        super().__init__()\n"
            "        self.W_Q, self.W_K, self.W_V, self.W_O = (\n"
            "            nn.Linear(d_model, d_model) for _ in range(4))\n"
            "    def reset(self): pass\n"
            "    def forward(self, x): return 0 * x\n"
        ),
        "sample-next": "def sample_next(logits, temperature=1, top_k=None, generator=None): return 3",
    }[exercise]
    assert verdict_on(exercise, code).points == 0


def test_a_missing_reset_is_said_in_words():
    code = (MUTANTS / "cached-self-attention" / "right_concatenate.py").read_text()
    code = code.replace("self.reset()", "self.keys = None").replace("def reset", "def forget")
    verdict = verdict_on("cached-self-attention", code)
    assert any("`reset()`" in f.message for f in verdict.findings)
    assert 0 < verdict.points < verdict.max_points


def test_renamed_layers_are_said_in_words():
    code = (MUTANTS / "cached-self-attention" / "right_concatenate.py").read_text()
    verdict = verdict_on("cached-self-attention", code.replace("W_Q", "to_query"))
    assert verdict.points == 0
    assert "W_Q" in verdict.findings[0].message


@pytest.mark.parametrize("returned", ["None", "'a'", "-1", "10**30", "float('nan')", "[1, 2]"])
def test_a_strange_token_is_refused_with_a_message(returned):
    code = (
        f"def sample_next(logits, temperature=1.0, top_k=None, generator=None): return {returned}"
    )
    verdict = verdict_on("sample-next", code)
    assert verdict.points == 0
    assert verdict.findings[0].message


def no_tokens(arrays, count):
    return {**arrays, "tokens": arrays["tokens"][:0], "again": arrays["again"][:0]}


def no_arrays(arrays, count):
    return {"after0": arrays["after0"]}


def one_token_less(arrays, count):
    return {**arrays, "tokens": arrays["tokens"][:-1]}


def one_token_for_all(arrays, count):
    return {**arrays, "tokens": arrays["tokens"][:1], "again": arrays["again"][:1]}


def a_row_of_tokens(arrays, count):
    return {**arrays, "tokens": arrays["tokens"][None]}


def shares_for_tokens(arrays, count):
    return {**arrays, "tokens": arrays["tokens"] / count}


FORGERIES = (
    *(no_tokens, no_arrays, one_token_less, one_token_for_all, a_row_of_tokens, shares_for_tokens),
)


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.__name__)
def test_a_process_that_reports_no_draws_gets_no_points(forgery):
    """The reply comes from the student's process: what is not in its arrays earns nothing."""
    code = (MUTANTS / "sample-next" / "right_by_hand.py").read_text(encoding="utf-8")
    namespace = {"__name__": "student"}
    exec(compile(code, "answer.py", "exec"), namespace)
    plan = judge.make_plan("sample-next", SEEDS)
    frame = probes.answer(wire.pack_request({"sample-next": plan.flat}), namespace)
    honest = wire.unpack_response(frame)["sample-next"]
    assert judge.verdict(plan, honest).passed
    said = {"draws": "800", "count": "800", "kind": "int"}
    forged = [
        replace(reply, arrays=forgery(reply.arrays, ask.options["count"]), notes=said)
        for reply, ask in zip(honest, plan.flat, strict=True)
    ]
    assert judge.verdict(plan, forged).points == 0


def chance_to_be_refused(n: int, p: float) -> float:
    """The exact binomial probability of counts that the check refuses for this token."""
    total = 0.0
    for count in range(n + 1):
        if n * sample_next.divergence(count / n, p) >= sample_next.LIMIT and 0 < p < 1:
            ways = math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
            total += math.exp(ways + count * math.log(p) + (n - count) * math.log(1 - p))
    return total


def test_a_right_sampler_is_refused_by_chance_less_than_once_in_a_thousand_million_checks():
    plan = judge.make_plan("sample-next", SEEDS)
    oracle = oracles.find("sample-next").oracle
    chance = sum(
        chance_to_be_refused(ask.options["count"], p)
        for ask in plan.flat
        for p in oracle(ask)["right"]
    )
    assert 0 < chance < 1e-9
