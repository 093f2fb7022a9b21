"""The README says what the register says, and its links lead somewhere."""

import re
from pathlib import Path

from tools import readme_tables

ROOT = Path(__file__).parents[2]


def test_the_table_of_notebooks_is_the_registers():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme_tables.with_table(text) == text


def test_every_link_and_picture_is_there_and_every_picture_has_a_text():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"(!?)\[([^\]]*)\]\((?!http)([^)#]+)\)", text)
    assert len(found) > 8
    for picture, words, target in found:
        assert (ROOT / target).exists(), target
        assert words if picture else True


def test_messages_that_point_to_a_section_of_the_readme_point_to_one_that_is_there():
    headings = re.findall(r"^#+ (.+)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    named = [
        section
        for path in (ROOT / "autograder").rglob("*.py")
        for section in re.findall(r"README, '([^']+)'", path.read_text(encoding="utf-8"))
    ]
    assert named and set(named) <= set(headings)
