"""Shows an instructor what would change in a gradebook, and asks before it is written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from autograder.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.nbgrader_parts.follow import Following

MOST_ROWS = 200


def asker(console: Console, yes: bool, ask: bool = True) -> Callable[[Following], bool]:
    """Show what changes and for whom; then --yes, or the person at the terminal, decides.

    Without `ask` it is only shown, for a trial run.
    """

    def agree(following: Following) -> bool:
        show(console, following)
        if yes or (not following.students and ask):
            return True
        if not (ask and sys.stdin.isatty() and console.is_terminal):
            return False
        return console.input("Write this to the gradebook? [y/N] ").strip().lower() in ("y", "yes")

    return agree


def show(console: Console, following: Following) -> None:
    """Print what changes in the assignment, then one line per student."""
    from rich.markup import escape
    from rich.table import Table

    console.print(f"{following.assignment} has changed since it was last graded:")
    for sentence in following.sentences:
        console.print(f"  {escape(sentence)}")
    if not following.students:
        return
    table = Table(title=f"Points change for {counted(len(following.students), 'student')}")
    for title in ("student", "name", "from", "to"):
        table.add_column(title, justify="right" if title in ("from", "to") else "left")
    before, after = f" of {following.max_before:g}", f" of {following.max_after:g}"
    for change in following.students[:MOST_ROWS]:
        row = [escape(change.student), escape(change.name)]
        row += [f"{change.before:g}{before}", f"{change.after:g}{after}"]
        table.add_row(*row)
    console.print(table)
    if len(following.students) > MOST_ROWS:
        console.print(f"… and {len(following.students) - MOST_ROWS} more.")
