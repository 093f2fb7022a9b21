"""Reads Python cells without running them: what they define and use, and which are helpers."""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

MAGIC = re.compile(r"^\s*(%|!|\?)|^\s*\w+\?\??\s*$")
LONGEST_CODE = 200_000  # characters of one cell; a tree of it takes a hundred times as many bytes
DEFINITION = re.compile(r"^(?:class|def|async def)\s+(\w+)|^(\w+)\s*=(?!=)", re.MULTILINE)


@dataclass(frozen=True)
class Reading:
    """What a cell's code contains. `parsed` is False if Python can't read it.

    `defines` are all names that it binds, `makes` are those without the imported ones.
    """

    defines: frozenset[str]
    makes: frozenset[str]
    uses: frozenset[str]
    patches: frozenset[str]
    only_helpers: bool
    star_import: bool
    parsed: bool


def without_magics(source: str) -> str:
    """The code with IPython's own lines (`%`, `!`, `?`) blanked, which keeps line numbers."""
    return "\n".join("" if MAGIC.match(line) else line for line in source.split("\n"))


@lru_cache(maxsize=4096)
def read_code(source: str) -> Reading:
    """What a cell defines, uses and patches at its top level."""
    tree = parse(source)
    if tree is None:
        found = frozenset(a or b for a, b in DEFINITION.findall(source))
        return Reading(found, found, frozenset(), frozenset(), False, False, False)
    defines: set[str] = set()
    makes: set[str] = set()
    patches: set[str] = set()
    star = False
    for node in _flat(tree.body):
        names = set() if isinstance(node, ast.Try) else _defined(node)
        star = star or "*" in names
        defines |= names - {"*"}
        if not isinstance(node, ast.Import | ast.ImportFrom):
            makes |= names
        patches |= _patched(node)
    uses = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    helpers = bool(tree.body) and all(is_helper(node) for node in tree.body)
    return Reading(
        frozenset(defines),
        frozenset(makes),
        frozenset(uses),
        frozenset(patches),
        helpers,
        star,
        parsed=True,
    )


def parse(source: str) -> ast.Module | None:
    if len(source) > LONGEST_CODE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(without_magics(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def is_helper(node: ast.stmt) -> bool:
    """Imports, functions, classes and plain assignments: what an answer may need from elsewhere."""
    if isinstance(
        node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    ):
        return True
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return node.value is None or _is_plain(node.value)
    if isinstance(node, ast.Expr):  # a docstring or a comment written as a text
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Try):
        parts = node.body + node.orelse + node.finalbody
        parts += [child for handler in node.handlers for child in handler.body]
        return all(is_helper(child) or isinstance(child, ast.Pass) for child in parts)
    return False


def new_statements(source: str, release: str) -> str:
    """The helper statements of a changed cell that the release's cell doesn't have."""
    return _kept(source, release, lambda node: False)


def callable_from(source: str, release: str) -> str:
    """What an answer may use of a given cell that is never run: its functions, classes and imports.

    Parts of the course are left out, because the setup cells import those that answers may use.
    """
    return _kept(source, release, _is_callable)


def without_definitions(source: str, names: frozenset[str]) -> str:
    """The code without the statements that define these names."""
    mine = parse(source)
    if mine is None or not any(_defined(node) & names for node in mine.body):
        return source
    lines = without_magics(source).split("\n")
    return "\n".join(_segment(lines, node) for node in mine.body if not _defined(node) & names)


def _is_callable(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return True
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        modules = [node.module or ""]
    else:
        return False
    return not {module.split(".")[0] for module in modules} & {"course_utils", "IPython"}


def _kept(source: str, release: str, wanted: Callable[[ast.stmt], bool]) -> str:
    """The statements of a given cell that are wanted, and the helpers that the release lacks."""
    mine = parse(source)
    known = _statements(release)
    if mine is None or known is None:
        return ""
    texts, taken = known
    lines = without_magics(source).split("\n")
    kept = [
        _segment(lines, node)
        for node in mine.body
        if not isinstance(node, ast.Expr)
        if wanted(node)
        or (is_helper(node) and not _defined(node) & taken and _dumped(node) not in texts)
    ]
    return "\n".join(kept)


@lru_cache(maxsize=256)
def _statements(release: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """A given cell's statements, and the names that they define."""
    tree = parse(release)
    if tree is None:
        return None
    names = frozenset(name for node in tree.body for name in _defined(node))
    return frozenset(map(_dumped, tree.body)), names


def _dumped(node: ast.stmt) -> str:
    """A statement in the form in which it is compared; one that is too deep equals no other."""
    try:
        return ast.dump(node)
    except RecursionError:
        return ""


def _segment(lines: list[str], node: ast.stmt) -> str:
    """The text of a statement. (ast's own function splits the whole source each time.)"""
    end = node.end_lineno or node.lineno
    found = lines[node.lineno - 1 : end]
    # Columns are counted in bytes; the end is cut first, in case it is in the same line.
    found[-1] = found[-1].encode()[: node.end_col_offset].decode()
    found[0] = found[0].encode()[node.col_offset :].decode()
    return "\n".join(found)


def rename_in(source: str, expected: str, kind: str) -> str | None:
    """The only class (or function) that a cell defines at its top level, if its name differs."""
    tree = parse(source)
    if tree is None:
        return None
    wanted = ast.ClassDef if kind == "class" else ast.FunctionDef
    names = [node.name for node in tree.body if isinstance(node, wanted)]
    return names[0] if len(names) == 1 and names[0] != expected else None


def kind_of(source: str, name: str) -> str:
    """How a cell defines a name: as a class, a function or a variable."""
    tree = parse(source)
    for node in tree.body if tree else []:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return "class"
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return "function"
    return "variable"


def _is_plain(value: ast.expr) -> bool:
    """True if only builtins and modules' functions are called: `math.sqrt(2)`, not `train(model)`."""
    for node in ast.walk(value):
        if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
            return False
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and hasattr(builtins, called.id):
                continue
            if isinstance(called, ast.Attribute):
                continue
            return False
    return True


def _flat(body: list[ast.stmt]) -> list[ast.stmt]:
    """Top-level statements in order, including those inside `try`, `if` and `with`."""
    found, waiting = [], list(reversed(body))
    while waiting:
        node = waiting.pop()
        found.append(node)
        inner: list[ast.stmt] = []
        if isinstance(node, ast.Try | ast.If | ast.With):
            for field in ("body", "orelse", "finalbody"):
                inner += getattr(node, field, [])
        if isinstance(node, ast.Try):
            inner += [child for handler in node.handlers for child in handler.body]
        waiting += reversed(inner)
    return found


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    targets: list[ast.expr]
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    elif isinstance(node, ast.Try):
        inside = (child for child in _flat(node.body) if not isinstance(child, ast.Try))
        return {name for child in inside for name in _defined(child)}
    else:
        return set()
    return {
        name.id
        for target in targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
        if isinstance(name.ctx, ast.Store)
    }


def _patched(node: ast.stmt) -> set[str]:
    """Names whose attributes are set, as in `DotProdAttention.forward = forward`."""
    if not isinstance(node, ast.Assign):
        return set()
    return {
        target.value.id
        for target in node.targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
    }
