"""Finds answers that are alike: code beyond names and the order of lines, texts word by word.

A piece of code is a set of short pieces of its syntax trees, taken statement by statement. Names
that the answer itself chose are left out, so that renaming and moving lines change nothing. What
the released notebook contains does not count. Nothing here accuses anybody: a solution that is
short, common in the class, or made of what our own right answers are made of is expected to come up
again.
"""

from __future__ import annotations

import ast
import itertools
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from autograder.grading import archive
from autograder.grading.record import SubmissionRecord
from autograder.grading.releases import release_of
from autograder.instructor.course import Course
from autograder.paths import MUTANTS
from course_utils import register

LENGTH = 6  # tokens of one piece
ALIKE = 0.8  # share of the pieces that two answers have in common
ENOUGH = 40  # pieces; a shorter answer leaves little to choose
COMMON = 0.2  # of the class
FEW = 3  # students who are never "common", however small the class is
RARE = 16  # pieces that a group must have and others have not
WORDS = 12  # of a written answer
LONGEST = 20_000  # letters of code; no exercise asks for a tenth of it
HIDDEN = ("ctx", "type_comment", "annotation", "returns", "type_params", "kind")


@dataclass(frozen=True)
class Alike:
    """Students whose answers are practically the same.

    share: what the two least similar neighbours in the group have in common. rare: pieces that most
    of them have, and neither our own right answers (so many: of) nor many others in the class.
    written: a text, not code.
    """

    exercise: str
    students: tuple[str, ...]
    texts: tuple[str, ...]
    share: float
    answered: int
    rare: int = 0
    of: int = 0
    written: bool = False

    @property
    def common(self) -> bool:
        """Whether the solution is one that many people would write."""
        many = len(self.students) > max(FEW, COMMON * self.answered)
        return not self.written and (many or self.rare < RARE)


@dataclass(frozen=True)
class SimilarWork:
    """Everything that is alike in one assignment.

    groups: what few share. common: how many groups share what many would write. files: students
    who handed in the very same file.
    """

    groups: tuple[Alike, ...] = ()
    common: int = 0
    files: tuple[tuple[str, ...], ...] = ()


NOTHING = SimilarWork()


def similar_work(course: Course, records: Sequence[SubmissionRecord]) -> SimilarWork:
    """Compare the answers of everybody whose submission of an assignment was graded."""
    graded = [record for record in records if record.graded]
    if not graded:
        return NOTHING
    name = graded[0].assignment
    released = _answers(json.loads(release_of(course.root, name)))
    answers: dict[str, dict[str, str]] = {exercise: {} for exercise in released}
    untouched = set()
    for record in graded:
        path = course.folder("submitted", archive.folder_name(record.student), name)
        own = _answers(_read(path / f"{name}.ipynb"))
        if all(own.get(exercise) == text for exercise, text in released.items()):
            untouched.add(record.student)
        for exercise in released.keys() & own.keys():
            answers[exercise][record.student] = own[exercise]
    groups: list[Alike] = []
    for exercise, texts in answers.items():
        kind = _kind(exercise)
        if kind == "code":
            groups += similar_code(exercise, texts, released[exercise])
        elif kind == "written":
            groups += same_text(exercise, texts, released[exercise])
    told = tuple(group for group in groups if not group.common)
    return SimilarWork(told, len(groups) - len(told), same_files(graded, untouched))


def same_files(
    records: Sequence[SubmissionRecord], untouched: Collection[str] = ()
) -> tuple[tuple[str, ...], ...]:
    """Students who handed in the same bytes; a notebook without answers proves nothing."""
    by_content: dict[str, list[str]] = {}
    for record in records:
        if record.sha256 and record.student not in untouched:
            by_content.setdefault(record.sha256, []).append(record.student)
    return tuple(tuple(sorted(who)) for who in by_content.values() if len(who) > 1)


def _answers(notebook: dict) -> dict[str, str]:
    """The text of each answer cell."""
    found = {}
    for cell in notebook.get("cells", ()):
        try:
            marks = cell["metadata"]["nbgrader"]
            if marks["solution"]:
                found[str(marks["grade_id"])] = "".join(cell["source"])
        except (KeyError, TypeError):
            continue  # no answer; nbgrader's own command may store whatever came
    return found


def _read(path: Path) -> dict:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("cells"), list) else {}


def _kind(exercise: str) -> str:
    """Numbers are not compared: there is one right answer, which everybody should find."""
    try:
        return register.exercise(exercise).kind
    except KeyError:
        return ""


def similar_code(exercise: str, answers: Mapping[str, str], released: str = "") -> list[Alike]:
    """Groups of students with nearly the same code, smallest first."""
    given = pieces(released)
    own = {student: pieces(text) - given for student, text in answers.items()}
    answered = sum(bool(found) for found in own.values())
    long = sorted(student for student, found in own.items() if len(found) >= ENOUGH)
    bank = right_answers(exercise)
    ours = frozenset().union(*bank)
    shares = _shares([own[student] for student in long])
    groups = []
    for members in _components(shares >= ALIKE):
        students = tuple(long[n] for n in members)
        near = [max(shares[n][m] for m in members if m != n) for n in members]
        rare = _shared([own[student] for student in students]) - ours
        rare -= _usual([found for student, found in own.items() if student not in students])
        texts = tuple(answers[student] for student in students)
        groups.append(Alike(exercise, students, texts, min(near), answered, len(rare), len(bank)))
    return sorted(groups, key=lambda group: (len(group.students), group.students))


def same_text(exercise: str, answers: Mapping[str, str], released: str = "") -> list[Alike]:
    """Groups of students with the same written answer, word by word."""
    by_words: dict[str, list[str]] = {}
    for student, text in sorted(answers.items()):
        words = text.casefold().split()
        if len(words) >= WORDS and words != released.casefold().split():
            by_words.setdefault(" ".join(words), []).append(student)
    return [
        Alike(
            exercise,
            tuple(students),
            tuple(answers[student] for student in students),
            1.0,
            len(answers),
            written=True,
        )
        for students in by_words.values()
        if len(students) > 1
    ]


@cache
def right_answers(exercise: str) -> tuple[frozenset[str], ...]:
    """The pieces of our own right answers."""
    paths = sorted((MUTANTS / exercise).glob("right_*.py"))
    return tuple(pieces(path.read_text(encoding="utf-8")) for path in paths)


def pieces(source: str) -> frozenset[str]:
    """The short pieces of a text's syntax trees; none if it is not Python, or far too long."""
    if len(source) > LONGEST:
        return frozenset()
    lines = [line for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))]
    try:
        tree = ast.parse("\n".join(lines))
        own = _own_names(tree)
        statements = [list(_tokens(node, own)) for node in ast.walk(tree) if _counts(node)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(
        " ".join(tokens[start : start + LENGTH])
        for tokens in statements
        for start in range(max(1, len(tokens) - LENGTH + 1))
    )


def _counts(node: ast.AST) -> bool:
    """Whether a node is a statement that does something, so not a docstring, pass or import."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False
    quiet = (ast.Pass, ast.Import, ast.ImportFrom)
    return isinstance(node, ast.stmt) and not isinstance(node, quiet)


def _own_names(tree: ast.AST) -> set[str]:
    """The names that an answer chose: of variables, arguments, functions and attributes."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
    return found


def _tokens(node: ast.AST, own: set[str]) -> Iterator[str]:
    """A statement in the order of its tree, without the statements inside it."""
    yield type(node).__name__
    for field, value in ast.iter_fields(node):
        if field in HIDDEN:
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.stmt):
                continue
            if isinstance(part, ast.AST):
                yield from _tokens(part, own)
            elif isinstance(part, str) and isinstance(node, ast.Constant):
                yield "text"
            elif part is not None:
                yield "_" if part in own else str(part)


def _shared(found: Sequence[frozenset[str]]) -> frozenset[str]:
    """What at least half of them have."""
    counts = Counter(itertools.chain(*found))
    return frozenset(piece for piece, count in counts.items() if 2 * count >= len(found))


def _usual(found: Sequence[frozenset[str]]) -> frozenset[str]:
    """What many of them have."""
    counts = Counter(itertools.chain(*found))
    return frozenset(piece for piece, count in counts.items() if count > COMMON * len(found))


def _shares(found: Sequence[frozenset[str]]) -> np.ndarray:
    """How much any two have in common: 0 to 1, and 0 on the diagonal."""
    counts = Counter(itertools.chain(*found))
    # what one person alone has takes no room, however much it is
    place = {piece: n for n, piece in enumerate(p for p, count in counts.items() if count > 1)}
    has = np.zeros((len(found), len(place)), dtype=np.float32)
    for row, own in zip(has, found, strict=True):
        row[[place[piece] for piece in own if piece in place]] = 1
    both = has @ has.T
    size = np.array([len(own) for own in found], dtype=np.float32)
    shares = both / np.maximum(size[:, None] + size[None, :] - both, 1)
    np.fill_diagonal(shares, 0)
    return shares


def _components(linked: np.ndarray) -> Iterable[list[int]]:
    """Groups of two or more who are linked, directly or through others."""
    left = set(range(len(linked)))
    while left:
        group: set[int] = set()
        waiting = [min(left)]
        while waiting:
            here = waiting.pop()
            group.add(here)
            waiting += [int(n) for n in np.flatnonzero(linked[here]) if n not in group]
        left -= group
        if len(group) > 1:
            yield sorted(group)
