"""The copy of course_utils that goes into the box: what answers import, and nothing that judges."""

from __future__ import annotations

import ast
import importlib.util
import shutil
from pathlib import Path

# all that enters from course_utils/checks: they run beside the student's code and hold no answers
INSIDE_CHECKS = ("probes", "axes.py", "wire.py", "next_words.py")
NOTHING_HERE = '''"""Nothing is judged inside the box: whatever is called here does nothing."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def nothing(*args, **kwargs):
        return False

    return nothing
'''
# these two contain what cells call besides the answers: check(), ready() and the like
REPLACED = {
    "notebook.py": NOTHING_HERE,
    "bringing.py": NOTHING_HERE,
    "checks/__init__.py": "",
}
IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", "checks", "*.npz")
# definitions that solve an exercise and that no setup cell needs
WITHOUT = {
    "by_hand/practice.py": (
        *("solve", "question", "QUESTIONS", "practise", "Practice"),
        *("_single_query", "_self_attention", "_two_heads", "_columns"),
    )
}


def course_folder() -> Path:
    """Where the installed course_utils is, without importing it."""
    found = importlib.util.find_spec("course_utils")
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError("course_utils is not installed: run `pip install -e .` first.")
    return Path(next(iter(found.submodule_search_locations)))


def without(names: tuple[str, ...], source: str) -> str:
    """The source of a module without some of its definitions."""
    kept = []
    for node in ast.parse(source).body:
        named = [getattr(node, "name", "")]
        if isinstance(node, ast.Assign):
            named = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if not set(named) & set(names):
            kept.append(node)
    return ast.unparse(ast.Module(kept, []))


def copy_course(target: Path) -> Path:
    """Write the boxed course_utils below `target` and return the folder to put on the path."""
    source, copy = course_folder(), target / "course_utils"
    shutil.copytree(source, copy, ignore=IGNORED)
    (copy / "checks").mkdir()
    for name in INSIDE_CHECKS:
        place = source / "checks" / name
        if place.is_dir():
            shutil.copytree(place, copy / "checks" / name, ignore=IGNORED)
        else:
            shutil.copy(place, copy / "checks" / name)
    for name, text in REPLACED.items():
        (copy / name).write_text(text)
    for name, parts in WITHOUT.items():
        (copy / name).write_text(without(parts, (copy / name).read_text()))
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return target
