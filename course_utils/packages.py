"""The packages that graders have: what an answer may import besides Python's own library."""

import ast
import sys

from course_utils import register


def available() -> tuple[str, ...]:
    """What an answer may import, by the names that `import` takes."""
    return tuple(dict.fromkeys(register.setting("packages", ())))


def not_available(source: str) -> list[str]:
    """The packages that a cell imports and the grader does not have."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []  # the check reports it
    known = {*available(), *sys.stdlib_module_names, "course_utils", "__main__"}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
    return sorted({name.partition(".")[0] for name in found} - known)
