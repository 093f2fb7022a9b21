"""Write docs/routes.md from the register: `python docs/make_routes.py`."""

import math
from pathlib import Path

from autograder.minutes import ROUNDED_TO, minutes
from autograder.routes import ROUTES, Route
from course_utils import register

HERE = Path(__file__).parent


def text() -> str:
    lines = [
        "# Routes through the course",
        "",
        "How long each notebook takes, what it teaches, and what a shorter course can leave out. To",
        "give a class one of these routes, name it in `course.toml`: see the",
        "[instructors' guide](instructors.md#choose-what-your-class-uses). What students should know",
        "beforehand is in [Before you begin](prerequisites.md), which includes a short test.",
        "",
        "## The notebooks",
        "",
        "| notebook | afterwards you can | minutes | points | core | grew out of |",
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
        f"About {total / 60:.0f} hours in total. The minutes cover reading (200 words per minute, code "
        "included) and all exercises, but not the time that training takes. The *core* points belong "
        "to exercises that later notebooks build on; a short course can leave out the others. The "
        "last column names the teaching material that the exercises grew out of, which the "
        "[bibliography](bibliography.md) describes.",
        "",
        "<!-- This page is written by `python docs/make_routes.py` from the register. -->",
        "",
    ]
    for route in ROUTES:
        names = route.notebooks
        lines += [
            f"## {route.name}",
            "",
            f"{route.about} About {_in_hours(minutes_of_route(route))}: {route.which}.",
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


def minutes_of_route(route: Route) -> int:
    """Without the exercises that the route leaves out, rounded up like those of a notebook."""
    left_out = [
        exercise.minutes
        for name in route.notebooks
        for exercise in register.exercises(name)
        if route.core_only and not exercise.core
    ]
    needed = sum(map(minutes, route.notebooks)) - sum(left_out)
    return ROUNDED_TO * math.ceil(needed / ROUNDED_TO)


def _in_hours(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{hours} hours {rest} minutes" if rest else f"{hours} hours"


if __name__ == "__main__":
    (HERE / "routes.md").write_text(text(), encoding="utf-8")
    print(f"Wrote {HERE / 'routes.md'}.")
