"""Every claim has its table, its figures, and an attempt to refute it."""

import shlex
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
    for command in (claim.command, claim.refute):
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
