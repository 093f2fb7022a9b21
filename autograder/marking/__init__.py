"""The marking page: one written question, the answers of the whole class, marked one after another.

It is an extension of Jupyter's own server and is found at `/marking`, beside nbgrader's formgrader.
Points and comments go where formgrader's go: into nbgrader's gradebook, as marks by hand.

    answers   reads the answers and puts equal and similar ones together
    store     reads and writes the marks
    server    the pages and their addresses
"""

from __future__ import annotations

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "autograder.marking"}]


def _load_jupyter_server_extension(server: Any) -> None:
    from autograder.marking.server import add_pages

    add_pages(server.web_app)
