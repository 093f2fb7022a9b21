"""Writes the README's table of notebooks from the register: `python tools/readme_tables.py`."""

import re
import sys
from pathlib import Path

from course_utils import register

README = Path(__file__).parent.parent / "README.md"
MARKS = re.compile(r"(<!-- notebooks:[^\n]*-->\n).*?(<!-- end -->)", re.S)


def table() -> str:
    lines = [
        "| notebook | minutes | points | afterwards you can | grew out of |",
        "| --- | --- | --- | --- | --- |",
    ]
    for n in register.notebooks():
        extra = sum(e.points for e in register.exercises(n.name) if e.extra)
        points = f"{register.points(n.name):g}" + (f" + {extra:g}" if extra else "")
        lines.append(
            f"| [{n.name[:2]} · {n.title}](notebooks/{n.name}.ipynb) | {n.minutes} | {points} | "
            f"{n.objectives} | {n.origin} |"
        )
    return "\n".join(lines) + "\n"


def with_table(text: str) -> str:
    return MARKS.sub(lambda match: match.group(1) + table() + match.group(2), text)


if __name__ == "__main__":
    before = README.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        sys.exit(
            0 if with_table(before) == before else "README.md is stale: run tools/readme_tables.py"
        )
    README.write_text(with_table(before), encoding="utf-8")
