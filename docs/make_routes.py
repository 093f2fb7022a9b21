"""Writes docs/routes.md from the register: `python docs/make_routes.py`."""

from pathlib import Path

from autograder.minutes import minutes
from autograder.routes import ROUTES
from course_utils import register

HERE = Path(__file__).parent


def text() -> str:
    lines = [
        "# Routes through the course",
        "",
        "This page is written by `python docs/make_routes.py` from the register.",
        "[Before you begin](prerequisites.md) says what students should know, with a test.",
        "",
        "## The notebooks",
        "",
        "| notebook | after it you can | minutes | points | core | grew out of |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for entry in register.notebooks():
        points, core, extra = _points(entry.name)
        shown = f"{points:g}" + (f" + {extra:g} extra" if extra else "")
        lines.append(
            f"| {entry.name[:2]} · {entry.title} | {entry.objectives} | {minutes(entry.name)} "
            f"| {shown} | {core:g} | {entry.origin} |"
        )
    total = sum(minutes(entry.name) for entry in register.notebooks())
    lines += [
        "",
        f"Together about {total / 60:.0f} hours. Minutes are the reading (200 words per minute, "
        "code included) and all exercises, without waiting for a training. *Core* are the points of the exercises that later "
        "notebooks build on; a short course may leave out the others. The last column names the "
        "teaching material that the exercises grew out of: see the [bibliography](bibliography.md).",
        "",
    ]
    for route in ROUTES:
        names = route.notebooks
        together = sum(map(minutes, names))
        lines += [
            f"## {route.name}",
            "",
            f"{route.about} {_together(together)}: {route.which}.",
            "",
        ]
        for name in names:
            exercises = register.exercises(name)
            core = ", ".join(f"`{e.id}`" for e in exercises if e.core) or "none"
            optional = ", ".join(f"`{e.id}`" for e in exercises if not e.core)
            line = f"- **{name[:2]} · {register.notebook(name).title}**. Core: {core}."
            lines.append(line + (f" Optional: {optional}." if optional else ""))
        lines.append("")
    return "\n".join(lines)


def _points(notebook: str) -> tuple[float, float, float]:
    exercises = register.exercises(notebook)
    extra = sum(e.points for e in exercises if e.extra)
    core = sum(e.points for e in exercises if e.core)
    return sum(e.points for e in exercises) - extra, core, extra


def _together(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{hours} hours {rest} minutes" if rest else f"{hours} hours"


if __name__ == "__main__":
    (HERE / "routes.md").write_text(text(), encoding="utf-8")
    print(f"Wrote {HERE / 'routes.md'}.")
