"""The register of notebooks and graded exercises, read from exercises.toml."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REGISTER = Path(__file__).with_name("exercises.toml")


@dataclass(frozen=True)
class Notebook:
    name: str
    title: str
    objectives: str
    origin: str


@dataclass(frozen=True)
class Exercise:
    id: str
    notebook: str
    kind: str
    names: tuple[str, ...]
    signature: str
    points: float
    difficulty: int
    minutes: int
    core: bool
    extra: bool = False
    retired: bool = False
    refuses: tuple[str, ...] = ()  # what an answer may not use, besides what no answer may use
    heading: str = ""  # what the notebook calls it, if that is not the name to write

    @property
    def refused(self) -> tuple[str, ...]:
        """All that an answer to this exercise may not use."""
        return (*self.refuses, *NEVER[self.kind])

    @property
    def title(self) -> str:
        """What a student would call it: the name to write, or the heading in the notebook."""
        if self.kind == "code":
            return ", ".join(self.names)
        return self.heading or self.id.replace("-", " ")

    @property
    def checked(self) -> bool:
        return self.kind != "written"


# What no answer of a kind may use: it would be the answer, or a way round writing one.
NEVER: dict[str, tuple[str, ...]] = {
    "code": (
        "course_utils.checks.",
        "MultiheadAttention",
        "multi_head_attention_forward",
        "_native_multi_head_attention",
        "TransformerEncoderLayer",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerDecoder",
        "nn.Transformer",
    ),
    "numbers": (
        "course_utils.checks.",
        "practice.solve",
        "practice.question",
        "practice.practise",
        "practice.QUESTIONS",
    ),
    "written": (),
}

_used: dict | None = None


@cache
def own() -> dict:
    """The content of the course's own file, whatever is used instead of it. Not to be changed."""
    return tomllib.loads(REGISTER.read_text(encoding="utf-8"))


def use(content: dict | None) -> None:
    """Use another register from now on: a class's choices, or None for the course's own."""
    global _used
    if content == _used:
        return
    _used = content
    for reader in list(globals().values()):
        if hasattr(reader, "cache_clear") and reader is not own:
            reader.cache_clear()


def used() -> dict | None:
    """What `use` was last given."""
    return _used


def _read() -> dict:
    return own() if _used is None else _used


def setting(name: str, otherwise=None):
    """A setting of the whole course, such as `own_numbers`."""
    return _read()["course"].get(name, otherwise)


def repository() -> str:
    """The address of the student's copy of the course."""
    return _read()["course"]["repository"]


def title() -> str:
    return _read()["course"]["title"]


@cache
def notebooks() -> tuple[Notebook, ...]:
    return tuple(Notebook(**entry) for entry in _read()["notebook"])


@cache
def exercises(notebook: str | None = None) -> tuple[Exercise, ...]:
    """The exercises of the course, or of one notebook, in the order they are met."""
    return tuple(e for e in ever() if notebook in (None, e.notebook) and not e.retired)


@cache
def ever() -> tuple[Exercise, ...]:
    """All exercises, including retired ones, which older submissions contain."""
    return tuple(
        Exercise(**{**e, "names": tuple(e["names"]), "refuses": tuple(e.get("refuses", ()))})
        for e in _read()["exercise"]
    )


def notebook(name: str) -> Notebook:
    for entry in notebooks():
        if entry.name == name:
            return entry
    known = ", ".join(n.name for n in notebooks())
    raise KeyError(f"There is no notebook called {name!r}. The course has: {known}.")


def exercise(exercise_id: str) -> Exercise:
    """An exercise by its id; one that is retired is found too."""
    for entry in ever():
        if entry.id == exercise_id:
            return entry
    known = ", ".join(e.id for e in exercises())
    raise KeyError(f"There is no exercise called {exercise_id!r}. The course has: {known}.")


def exercise_defining(name: str) -> Exercise | None:
    """The exercise in which a student writes something called `name`, if there is one."""
    asking = [e for e in ever() if name in e.names and e.kind == "code"]
    return min(asking, key=lambda e: e.retired, default=None)


def points(notebook: str) -> float:
    """What a notebook is worth, without extra credit."""
    return sum(e.points for e in exercises(notebook) if not e.extra)
