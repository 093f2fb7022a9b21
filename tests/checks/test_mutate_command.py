"""`autograder mutate`: how many changed solutions it judges."""

import pytest
from click.testing import CliRunner

from autograder import mutate
from autograder.cli import main


@pytest.mark.parametrize("most", [3, 1000])
def test_it_judges_at_most_so_many_changes_and_the_same_each_time(most, monkeypatch):
    chosen = []

    def run(changes):
        chosen.append(changes)
        return iter(())

    monkeypatch.setattr(mutate, "run", run)
    for _ in range(2):
        said = CliRunner().invoke(
            main, ["mutate", "causal-mask", "--repeat", "1", "--most", str(most)]
        )
        assert said.exit_code == 0, said.output
    assert chosen[0] == chosen[1]
    assert len(chosen[0]) == min(most, len(mutate.changes("causal-mask")))
