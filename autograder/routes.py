"""The ready-made routes through the course."""

from __future__ import annotations

from dataclasses import dataclass

from course_utils import register


@dataclass(frozen=True)
class Route:
    """A choice of notebooks, with all of their exercises or only the core ones.

    `about` and `which` describe the choice to people.
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
        "Two sessions per week, from pen and paper to self-attention; the transformer is only shown.",
        (
            "00_start_here",
            "01_pen_and_paper",
            "02_rnn_bottleneck",
            "03_attention",
            "05_self_attention",
        ),
        True,
        "core exercises only, with 02 as homework",
    ),
    Route(
        "The whole course",
        "One notebook per week, in this order.",
        tuple(entry.name for entry in register.notebooks()),
        False,
        "all exercises, including extra credit",
    ),
)
