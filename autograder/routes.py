"""The ready-made routes through the course, by name."""

from __future__ import annotations

from dataclasses import dataclass

from course_utils import register


@dataclass(frozen=True)
class Route:
    """Which notebooks, and whether only the exercises that later notebooks build on.

    `which` says the same for people; an empty tuple of notebooks means all.
    """

    name: str
    about: str
    notebooks: tuple[str, ...]
    core_only: bool
    which: str


ROUTES = (
    Route(
        "One lab",
        "An afternoon. Students write one attention module and see what it changes.",
        ("00_start_here", "01_pen_and_paper", "03_attention"),
        True,
        "core exercises only",
    ),
    Route(
        "Two weeks",
        "Two sessions a week. From pen and paper to self-attention; the transformer is shown.",
        (
            "00_start_here",
            "01_pen_and_paper",
            "02_rnn_bottleneck",
            "03_attention",
            "05_self_attention",
        ),
        True,
        "core exercises; 02 as homework",
    ),
    Route(
        "The whole course",
        "A notebook a week, in this order.",
        tuple(entry.name for entry in register.notebooks()),
        False,
        "all exercises, the extra credit included",
    ),
)
