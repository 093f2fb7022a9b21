"""Every measured table is listed with the command that writes it."""

import re
from pathlib import Path

import pytest

from course_utils.measured import FOLDER

ROOT = Path(__file__).parents[2]
ROWS = re.findall(r"^\| `(\S+\.csv)` \| (.+?) \|", (FOLDER / "README.md").read_text(), flags=re.M)


def test_the_list_has_every_table_once_and_no_other():
    assert sorted(name for name, _ in ROWS) == sorted(path.name for path in FOLDER.glob("*.csv"))


def test_no_table_is_elsewhere_in_the_course_or_beside_the_benchmarks():
    places = (ROOT / "course_utils", ROOT / "benchmarks", ROOT / "autograder")
    tables = {path.parent for place in places for path in place.rglob("*.csv")}
    assert tables == {FOLDER}


def names_in(script: Path, name: str) -> bool:
    """Whether a benchmark names a table, or imports the constant that a room has for it."""
    rooms = "".join(path.read_text() for path in (ROOT / "course_utils").rglob("*.py"))
    constants = re.findall(rf'(\w+) = FOLDER / "{re.escape(name)}"', rooms)
    source = script.read_text()
    return name in source or any(re.search(rf"\b{one}\b", source) for one in constants)


@pytest.mark.parametrize(("name", "commands"), ROWS)
def test_the_command_of_a_table_exists_and_writes_it(name, commands):
    scripts = re.findall(r"`python (benchmarks/\w+\.py)[^`]*`", commands)
    assert scripts
    for script in scripts:
        assert names_in(ROOT / script, name), f"{script} does not name {name}"
