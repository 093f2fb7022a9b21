"""The authors' guide, followed word by word on a copy of the course."""

import re
import shutil

import pytest

from tests.instructor.guides import DOCS, ROOT, commands_in, follow


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.thorough
def test_the_authors_guide(tmp_path):
    """On a copy of the course: the register, the source, the check and the mutants of the guide."""
    for name in ("autograder", "course_utils", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    text = (DOCS / "authors.md").read_text(encoding="utf-8")
    written = []
    for how, path, _, body in re.findall(
        r"(Add to|As)\s+`([^`]+)`[^\n]*:\s*\n\n```(toml|python)\n(.*?)^```$",
        text,
        re.MULTILINE | re.DOTALL,
    ):
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        before = target.read_text(encoding="utf-8") + "\n" if how == "Add to" else ""
        target.write_text(before + body, encoding="utf-8")
        written.append(path)
    assert len(written) == 8, written
    said = follow(commands_in("authors.md"), tmp_path, pythonpath=tmp_path)
    assert "wrong passed 0, right failed 0" in " ".join(said.split())
    built = (tmp_path / "notebooks" / "00_start_here.ipynb").read_text(encoding="utf-8")
    assert "def sharpen" in built and "torch.softmax(scores / temperature" not in built
