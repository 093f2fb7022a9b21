"""The answers in a notebook's source, so that benchmarks and tests measure what is published."""

import re
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "source"
HEADER = re.compile(r"^# %%(?P<header>.*)$", re.MULTILINE)


def solutions(notebook: str) -> dict:
    """What the setup cells and the solution cells of a source define, by name."""
    text = (SOURCES / f"{notebook}.py").read_text(encoding="utf-8")
    marks = list(HEADER.finditer(text))
    names: dict = {"__name__": notebook}
    for mark, following in zip(marks, [*marks[1:], None]):
        header = mark["header"]
        if "[markdown]" in header or not ('"solution": true' in header or '"setup"' in header):
            continue
        cell = text[mark.end() : following.start() if following else len(text)]
        exec(compile(cell, f"{notebook}.py", "exec"), names)
    return names
