"""Which form an answer has (a loop, einsum, a fused call), read from its own source."""

import ast
import inspect
import textwrap
from collections.abc import Iterator

FUSED = {"scaled_dot_product_attention", "MultiheadAttention", "multi_head_attention_forward"}
JOINS = {"cat", "concat", "concatenate"}


def forms_of(names: tuple[str, ...], namespace: dict) -> set[str]:
    """fused, einsum, loop or query-first: what the objects called `names` are made of."""
    found: set[str] = set()
    for name in names:
        found |= set(_forms(_tree(namespace.get(name))))
    return found


def _tree(answer) -> ast.AST:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(answer)))
    except (OSError, TypeError, SyntaxError):  # typed numbers, or a cell that is no longer there
        return ast.Module([], [])


def _forms(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.While):
            yield "loop"
        if isinstance(node, ast.Call):
            called = _called(node)
            if called == "einsum":
                yield "einsum"
            if called in FUSED:
                yield "fused"
        if isinstance(node, ast.FunctionDef) and _joins_its_first_argument_first(node):
            yield "query-first"


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _joins_its_first_argument_first(function: ast.FunctionDef) -> bool:
    arguments = [a.arg for a in function.args.args if a.arg != "self"]
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _called(node) in JOINS and node.args:
            first = getattr(node.args[0], "elts", [None])[0]
            if isinstance(first, ast.Name) and arguments[:1] == [first.id]:
                return True
    return False
