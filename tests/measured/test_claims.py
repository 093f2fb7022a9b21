"""Every claim has its table, its figures, and an attempt to refute it."""

import shlex
from pathlib import Path

import pytest

from course_utils import register
from course_utils.measured import FOLDER
from course_utils.measured.claims import Claim, load_claims, read_rows

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
def test_the_table_holds_the_seeds_that_the_claim_names(claim):
    rows = read_rows(FOLDER / claim.data)
    for figure in claim.figures.values():
        where = {key: str(value) for key, value in figure["where"].items()}
        counted = [row for row in rows if where.items() <= row.items()]
        assert counted
        if "seed" in counted[0]:  # the table of beams has one model
            assert {row["seed"] for row in counted} <= {str(seed) for seed in claim.seeds}


def test_a_figure_without_a_row_is_an_error_and_several_rows_show_their_range():
    figures = {"a": {"column": "share_right", "where": {"bits": 8, "length": 2}}}
    rest = dict.fromkeys(("notebook", "command", "refute", "tried", "came"), "")
    claim = Claim(name="x", claim="{a}", seeds=[0], data="channel.csv", figures=figures, **rest)
    assert claim.sentence.startswith("100%")
    figures["a"]["where"]["bits"] = 7
    with pytest.raises(LookupError, match="no row"):
        _ = claim.sentence
