"""Starts a process without what it would import and never use.

Importing nbgrader imports its server extensions: where submissions are read, that would be most of
the time. Some modules of nbgrader are needed there, and no server.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec


def without_servers() -> None:
    """Let `import nbgrader` find its modules, and import none of them by itself."""
    if "nbgrader" in sys.modules:
        return
    found = find_spec("nbgrader")
    if found is not None:
        sys.modules["nbgrader"] = bare = module_from_spec(found)
        vars(bare)["__version__"] = import_module("nbgrader._version").__version__


def main() -> None:
    """The process that reads submissions."""
    without_servers()
    from autograder.grading import reader_process

    reader_process.main()
