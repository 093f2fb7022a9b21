"""Every claim has its table, its figures, and an attempt to refute it."""

import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from course_utils import register
from course_utils.measured.claims import Claim, load_claims

CLAIMS = load_claims()
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_gets_all_its_figures_from_its_table(claim):
    assert "{" not in claim.sentence + claim.outcome
    for text in (claim.claim, claim.came):
        without = text.format(**dict.fromkeys(claim.figures, ""))
        assert "%" not in without, "a measured figure is written by hand"


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_names_a_notebook_and_commands_that_exist(claim):
    assert claim.notebook in {e.notebook for e in register.exercises()}
    for command in (claim.command, *claim.refute.split(" && ")):
        script = next(word for word in shlex.split(command) if word.endswith(".py"))
        assert (ROOT / script).exists(), script


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_the_table_holds_exactly_the_seeds_that_the_register_names(claim):
    for name, figure in claim.figures.items():
        rows = claim.rows(name)
        if "seed" in rows[0]:  # the table of beams has one model
            assert sorted(int(row["seed"]) for row in rows) == figure.get("seeds", claim.seeds), (
                name
            )


def test_an_attempt_to_refute_a_claim_is_not_the_command_that_measured_it():
    same = {name for name, claim in CLAIMS.items() if claim.refute == claim.command}
    assert same == set()


def test_a_figure_without_a_row_is_an_error_and_several_rows_show_their_range():
    figures = {"a": {"column": "share_right", "where": {"bits": 8, "length": 2}}}
    rest = dict.fromkeys(("notebook", "command", "refute", "tried", "came"), "")
    claim = Claim(name="x", claim="{a}", seeds=[0], data="channel.csv", figures=figures, **rest)
    assert claim.sentence.startswith("100%")
    figures["a"]["where"]["bits"] = 7
    with pytest.raises(LookupError, match="no row"):
        _ = claim.sentence


def test_a_figure_may_have_a_table_and_seeds_of_its_own():
    rest = dict.fromkeys(("notebook", "command", "refute", "tried", "came"), "")
    where = {"mechanism": "scaled dot-product", "budget": "full"}
    figures = {
        "all": {"column": "share_right", "where": {"model": "attention", "bits": 8, "length": 2}},
        "one": {"column": "bleu_tokens", "where": where, "seeds": [0]},
    }
    figures["one"] |= {"data": "translation_results.csv", "show": "{:.0f}"}
    claim = Claim(name="x", claim="", seeds=[0, 1, 2], data="channel.csv", figures=figures, **rest)
    assert claim.value("all", "runs") == "three runs"
    assert claim.value("one", "runs") == "one run"
    assert claim.value("one") == "39"
    assert claim.runs == ("channel.csv, seeds 0, 1, 2; one: translation_results.csv, seed 0")


def test_the_transformer_is_behind_at_equal_time_and_slower_at_equal_quality():
    claim = CLAIMS["transformer"]

    def values(name):
        return [float(row[claim.figures[name]["column"]]) for row in claim.rows(name)]

    assert min(values("quick_minutes")) > max(values("recurrent_quick_minutes"))
    assert max(values("quick")) < min(values("recurrent_quick"))
    assert min(values("full_minutes")) > max(values("recurrent_full_minutes"))
    assert max(values("full")) - max(values("recurrent_full")) < 1.5


def test_an_attempt_of_several_commands_runs_each_and_stops_at_the_first_that_fails(monkeypatch):
    spec = importlib.util.spec_from_file_location("refute", ROOT / "benchmarks" / "refute.py")
    refute = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(refute)
    ran = []

    def run(command, **how):
        ran.append(command)
        return subprocess.CompletedProcess(command, len(ran) - 1)

    monkeypatch.setattr(refute.subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["refute.py", "transformer"])
    with pytest.raises(SystemExit) as stopped:
        refute.main()
    assert stopped.value.code == 1
    parts = CLAIMS["transformer"].refute.split(" && ")
    assert ran == [[sys.executable, *shlex.split(part)[1:]] for part in parts]
