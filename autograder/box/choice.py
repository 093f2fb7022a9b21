"""Which wall a submission runs behind: namespaces, another user, or none (`--unsafe`)."""

from __future__ import annotations

from autograder.box import other_user, walls

NAMESPACES, OTHER_USER, NO_WALL = "box", "other user", "none"
SAID = {
    NAMESPACES: "each in a box",
    OTHER_USER: "each as another user, without namespaces",
    NO_WALL: "without a box (--unsafe)",
}


def choose_wall(unsafe: bool = False) -> str:
    """The best wall available here; raises BoxUnavailable if there is none."""
    if unsafe:
        return NO_WALL
    if (reason := walls.why_unavailable()) is None:
        return NAMESPACES
    if other_user.why_unavailable() is None:
        return OTHER_USER
    raise walls.BoxUnavailable(
        f"{reason} To grade submissions that you trust without isolation, use --unsafe."
    )


def why_unavailable() -> str | None:
    """None if one of the walls is available; otherwise the reason and what to do about it."""
    try:
        choose_wall()
    except walls.BoxUnavailable as problem:
        return str(problem)
    return None
