"""Fills in the parts of the README that come from registers: `python tools/readme_tables.py`.

The table of notebooks comes from the register of exercises. A measured figure goes between two
comments, the first of which gives its name in the register of claims: claim:NAME.FIGURE FORM.
"""

import re
import sys
from pathlib import Path

from autograder.minutes import minutes
from course_utils import register
from course_utils.measured.claims import figure

README = Path(__file__).parent.parent / "README.md"
MARKS = re.compile(r"(<!-- notebooks:[^\n]*-->\n).*?(<!-- end -->)", re.S)
FIGURE = re.compile(r"(<!--claim:([^>]+?)-->).*?(<!--/-->)")


def table() -> str:
    lines = [
        "| notebook | minutes | points | afterwards you can |",
        "| --- | ---: | ---: | --- |",
    ]
    for n in register.notebooks():
        extra = sum(e.points for e in register.exercises(n.name) if e.extra)
        points = f"{register.points(n.name):g}" + (f" + {extra:g}" if extra else "")
        lines.append(
            f"| [{n.name[:2]} · {n.title}](notebooks/{n.name}.ipynb) | {minutes(n.name)} | {points} | "
            f"{n.objectives} |"
        )
    return "\n".join(lines) + "\n"


def with_table(text: str) -> str:
    text = MARKS.sub(lambda match: match.group(1) + table() + match.group(2), text)
    return FIGURE.sub(lambda match: match.group(1) + figure(match.group(2)) + match.group(3), text)


if __name__ == "__main__":
    before = README.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        sys.exit(
            0
            if with_table(before) == before
            else "README.md is out of date: run tools/readme_tables.py"
        )
    README.write_text(with_table(before), encoding="utf-8")
