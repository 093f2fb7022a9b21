"""What an answer may use: read from its text, so that nothing it does while it runs can hide it.

An answer uses Python, NumPy, PyTorch and what its notebook imports. It imports nothing else of
the course, and does not use what the register refuses for its exercise: what would be the answer
itself.
"""

import ast
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

from course_utils import register

GIVEN = Path(__file__).with_name("given.json")  # written by `autograder build`
MOST_NAMED = 3
MAGIC = re.compile(r"^\s*[%!].*$", re.MULTILINE)
# ways to reach something without writing its name
HIDDEN = {"eval", "exec", "compile", "__import__", "globals", "vars", "importlib", "ctypes", "gc"}
HIDDEN_IN = {"__dict__", "__getattribute__", "attrgetter", "methodcaller", "import_module"}


def refused_uses(
    source: str, refuses: Collection[str], given: Collection[str] | None = None
) -> list[str]:
    """The parts of an answer that are refused, as they are written there, each once.

    refuses: `name` (of anything), `module.name`, or `module.` for all that it has. given: the
    names that the notebook gives; None allows every import.
    """
    found: dict[str, None] = {}
    for text, name in sorted(_names(source)):
        of_course = name == "course_utils" or text.startswith("course_utils.")
        if of_course and given is not None and name not in given:
            found[text] = None
        if any(_is(entry, text, name) for entry in refuses):
            found[text] = None
    return list(found)


@cache
def given_by(notebook: str) -> frozenset[str] | None:
    """The names of the course that a notebook gives; None if there is no such notebook any more."""
    found = json.loads(GIVEN.read_text(encoding="utf-8"))
    return frozenset(found[notebook]) if notebook in found else None


def refusal(exercise_id: str, sources: Iterable[str]) -> str:
    """Why an answer gets no points, as a sentence; empty if it uses nothing that is refused."""
    entry = register.exercise(exercise_id)
    given = None if entry.retired else given_by(entry.notebook)
    uses = [use for source in sources for use in refused_uses(source, entry.refused, given)]
    if not uses:
        return ""
    named = ", ".join(f"`{use}`" for use in dict.fromkeys(uses[:MOST_NAMED]))
    return (
        f"The answer uses {named}, which this exercise does not allow: write it yourself, with what "
        "the notebook gives."
    )


def own_cells(names: Collection[str], history: Sequence[str]) -> list[str]:
    """The text of an answer among the cells that were run, with the helpers that it uses.

    For each name, the last cell that defines it counts. Helpers are functions, classes and imports.
    """
    kept: dict[int, None] = {}
    wanted, seen = set(names), set()
    while wanted:
        name = wanted.pop()
        seen.add(name)
        for number in reversed(range(len(history))):
            defines = _defined(history[number])
            if name in defines and (defines[name] or name in names):
                kept[number] = None
                wanted |= _used(history[number]) - seen
                break
    return [history[number] for number in sorted(kept)]


@lru_cache(maxsize=1024)
def _defined(source: str) -> dict[str, bool]:
    """The names that a cell gives a value, and whether each is a function, a class or an import."""
    found: dict[str, bool] = {}
    for node in _nodes(source):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, False)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = True
        elif isinstance(node, ast.alias):
            found[(node.asname or node.name).split(".")[0]] = True
    return found


@lru_cache(maxsize=1024)
def _used(source: str) -> frozenset[str]:
    return frozenset(node.id for node in _nodes(source) if isinstance(node, ast.Name))


@lru_cache(maxsize=1024)
def is_hidden(source: str) -> str:
    """How an answer reaches things without writing their names; empty if it doesn't."""
    for node in _nodes(source):
        if isinstance(node, ast.Name) and node.id in HIDDEN:
            return node.id
        if isinstance(node, ast.Attribute) and (
            node.attr in HIDDEN_IN or _dotted(node) == "sys.modules"
        ):
            return node.attr
        if isinstance(node, ast.alias) and node.name.split(".")[-1] in HIDDEN | HIDDEN_IN:
            return node.name
        if isinstance(node, ast.Call) and _computed_getattr(node):
            return "getattr"
    return ""


def _computed_getattr(call: ast.Call) -> bool:
    named = isinstance(call.func, ast.Name) and call.func.id == "getattr"
    return named and len(call.args) > 1 and not isinstance(call.args[1], ast.Constant)


def names_given(source: str) -> set[str]:
    """The names that a cell of the notebook binds, by importing or by assigning them."""
    found = set()
    for node in _nodes(source):
        if isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def _is(entry: str, text: str, name: str) -> bool:
    if entry.endswith("."):
        return text.startswith(entry) or f".{entry}" in text
    if "." in entry:
        return text == entry or text.endswith(f".{entry}")
    return name == entry


@lru_cache(maxsize=1024)
def _names(source: str) -> frozenset[tuple[str, str]]:
    """What an answer reaches for: as it is written, and its last name."""
    return frozenset(_each_name(source))


def _each_name(source: str) -> Iterator[tuple[str, str]]:
    for line in MAGIC.findall(source):
        for word in re.findall(r"[\w.]+", line):
            yield word, word.rpartition(".")[2]
    for node in _nodes(source):
        if isinstance(node, ast.Attribute):
            text = _dotted(node)
            yield text, node.attr
        elif isinstance(node, ast.Import):
            for alias in node.names:
                # an import as a whole counts by its first name: none of it was given
                yield alias.name, alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield f"{node.module or ''}.{alias.name}", alias.name
        elif isinstance(node, ast.Constant):
            text = node.value if isinstance(node.value, str) else ""
            if re.fullmatch(r"[\w.]{1,200}", text):
                yield text, text.rpartition(".")[2]


def _dotted(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts))


def _nodes(source: str) -> Iterator[ast.AST]:
    """Everything in a cell that is Python; what can't be read can't be run either."""
    try:
        yield from ast.walk(ast.parse(MAGIC.sub("", source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
