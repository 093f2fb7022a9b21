"""Starts the process that reads submissions, without what it would import and never use.

Importing nbgrader starts its server extensions and sqlalchemy, and jsonschema compiles a grammar
of addresses: together four fifths of the time. Reading needs one module of nbgrader, and no
address is checked.
"""

import sys
from importlib.util import find_spec
from types import ModuleType


def main() -> None:
    found = find_spec("nbgrader")
    if found is not None:
        bare = ModuleType("nbgrader")
        bare.__path__ = list(found.submodule_search_locations or ())
        sys.modules["nbgrader"] = bare
    # as if it were not installed
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    from autograder.grading import reader_process

    reader_process.main()
