"""What a student's notebook imports: checks, widgets, data and a small trainer.

What every notebook needs is here; the rest is in rooms by subject. Names are looked up when they
are first used, so that importing a widget does not import torch.
"""

import importlib
from collections.abc import Callable
from typing import Any


def offer(room: str, names: dict[str, list[str]]) -> tuple[list[str], Callable[[str], Any]]:
    """The `__all__` and `__getattr__` of a room: `names` lists what each of its modules offers."""
    homes = {name: f"{room}.{module}" for module, offered in names.items() for name in offered}

    def look_up(name: str):
        if name in homes:
            return getattr(importlib.import_module(homes[name]), name)
        raise AttributeError(f"{room} has nothing called {name!r}.")

    return list(homes), look_up


__version__ = "0.1.0"
__all__, __getattr__ = offer(
    __name__,
    {
        "notebook": ["check", "ready", "ready_to_submit"],
        "environment": ["environment_check"],
        "bringing": ["bring_your_own"],
        "saved_work": ["progress"],
    },
)
