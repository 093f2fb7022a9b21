"""Makes wrong answers from the instructor's own: operators, axes, constants, dropped statements.

Each mutant changes one place of a solution. The judge should refuse every one that behaves
differently; those that do not are listed, with the reason, in `mutants/equivalent.toml`.
"""

import ast
import copy
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder import solutions
from autograder.selftest import DIAGNOSED, Diagnosis, asked, diagnosis
from course_utils import register

EQUIVALENT = Path(__file__).with_name("mutants") / "equivalent.toml"
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


@dataclass(frozen=True)
class Change:
    """One mutant: which exercise, what was changed, and the whole text of the wrong answer."""

    exercise: str
    what: str
    source: str


def changes(exercise_id: str) -> list[Change]:
    """All mutants of one solution, each with one place changed."""
    tree = ast.parse(solutions.solution_source(exercise_id))
    original = ast.unparse(tree)
    found, seen = [], {original}
    for number in range(sum(1 for _ in ast.walk(tree))):
        for variant in range(3):
            changed = copy.deepcopy(tree)
            node = list(ast.walk(changed))[number]
            if not _mutate(changed, node, variant):
                continue
            text = ast.unparse(ast.fix_missing_locations(changed))
            if text not in seen:
                seen.add(text)
                found.append(Change(exercise_id, _difference(original, text), text))
    return found


def _difference(original: str, changed: str) -> str:
    """The first line that was changed, before and after."""
    before, after = original.splitlines(), changed.splitlines()
    place = next((i for i, (a, b) in enumerate(zip(before, after)) if a != b), len(after) - 1)
    return f"{before[place].strip()}  ->  {after[place].strip()}"


def _mutate(tree: ast.AST, node: ast.AST, variant: int) -> bool:
    """Change `node` in place; returns whether there was something to change."""
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        if variant == 0:
            node.op = OPERATORS[type(node.op)]()
        elif variant == 1 and not isinstance(node.op, ast.Add | ast.Mult):
            node.left, node.right = node.right, node.left
        else:
            return False
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and variant == 0:
        if type(node.ops[0]) not in COMPARISONS:
            return False
        node.ops = [COMPARISONS[type(node.ops[0])]()]
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        assert isinstance(node.value, int | float)  # mypy does not see it in the line above
        node.value = (node.value + 1, node.value - 1, -node.value)[variant]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and variant == 0:
        _Replace(node, node.operand).visit(tree)
    elif isinstance(node, ast.Call) and node.args and variant == 0:
        _Replace(node, node.args[0]).visit(tree)
    elif isinstance(node, ast.Call) and len(node.args) == 2 and variant == 1:
        node.args.reverse()
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and variant == 2:
        _Replace(node, node.func.value).visit(tree)
    elif isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.If) and variant == 0:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return False  # a docstring
        _Replace(node, ast.Pass()).visit(tree)
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and variant == 0:
        node.value.elts.reverse()
    else:
        return False
    return True


class _Replace(ast.NodeTransformer):
    """Replaces one node by another."""

    def __init__(self, old: ast.AST, new: ast.AST):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def equivalent() -> dict[tuple[str, str], str]:
    """The mutants known to behave like the solution: why, by exercise and change."""
    if not EQUIVALENT.exists():
        return {}
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {(entry["exercise"], entry["what"]): entry["why"] for entry in entries}


def run(chosen: list[Change]) -> Iterator[tuple[Change, Diagnosis]]:
    """Judge every mutant: whether it passed, and which mistake was named."""
    before = {exercise: _before(exercise) for exercise in {c.exercise for c in chosen}}
    answers = [(c.exercise, (*before[c.exercise], c.source)) for c in chosen]
    for change, (plan, outcome) in zip(chosen, asked(answers, DIAGNOSED + 1)):
        yield change, diagnosis(plan, outcome)


def _before(exercise_id: str) -> tuple[str, ...]:
    """What comes before an answer: imports, what is given, and earlier answers, all right."""
    entry = register.exercise(exercise_id)
    earlier = []
    for other in register.exercises(entry.notebook):
        if other.id == exercise_id:
            break
        if other.kind == "code":
            earlier.append(solutions.solution_source(other.id))
    return (solutions.setup_source(entry.notebook), *earlier)
