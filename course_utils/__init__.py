"""What a student's notebook imports: checks, widgets, data and a small trainer.

Names are looked up when first used, so that importing a widget does not import torch.
"""

import importlib

_HOMES = {
    "check": "course_utils.notebook",
    "ready": "course_utils.notebook",
    "ready_to_submit": "course_utils.notebook",
    "environment_check": "course_utils.environment",
}
__all__ = list(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"course_utils has nothing called {name!r}.")
