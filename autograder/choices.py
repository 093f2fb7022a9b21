"""A class's choices: `course.toml` in the instructor's course directory, read and checked.

For everything it leaves out, the course's own settings apply. The choices become a register of
exercises (`content`), and everything that reads the register follows them: build, checks, totals,
the ready cell.
"""

from __future__ import annotations

import contextlib
import copy
import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from importlib import metadata
from pathlib import Path
from zoneinfo import ZoneInfo

from autograder.course_files import CourseError
from autograder.routes import ROUTES
from course_utils import register

FILE = "course.toml"
LISTS = ("notebooks", "leave_out", "optional", "does_not_count", "full_marks", "packages")
TEXTS = ("title", "repository", "route", "timezone")
TABLES = ("points", "due", "late", "sections")
KEYS = (*TEXTS, *LISTS, *TABLES, "own_numbers")
PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")


@dataclass(frozen=True)
class LateRule:
    """What a late day costs: a share of the score, after some days that cost nothing."""

    share_a_day: float
    free_days: int = 0


@dataclass(frozen=True)
class Choices:
    """Which parts of the course a class uses, and under which rules.

    notebooks: empty means all. left_out: exercises that are not in the notebooks. uncounted:
    exercises that stay and give no points. full_marks: everybody who submits gets all their points.
    due: by assignment; section_due: by section, then assignment.
    """

    title: str = ""
    repository: str = ""
    notebooks: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    uncounted: frozenset[str] = frozenset()
    full_marks: frozenset[str] = frozenset()
    points: Mapping[str, float] = field(default_factory=dict)
    own_numbers: bool | None = None
    packages: tuple[str, ...] = ()
    due: Mapping[str, datetime] = field(default_factory=dict)
    section_due: Mapping[str, Mapping[str, datetime]] = field(default_factory=dict)
    late: LateRule | None = None
    timezone: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The notebooks of the class, in the order of the course."""
        known = [entry["name"] for entry in register.own()["notebook"]]
        return tuple(name for name in known if not self.notebooks or name in self.notebooks)

    @property
    def zone(self) -> ZoneInfo | None:
        return ZoneInfo(self.timezone) if self.timezone else None


def use(course: Path | str) -> Choices:
    """Read a class's choices and apply them to the register, in this process."""
    choices = read(course)
    put_in_use(choices)
    return choices


def put_in_use(choices: Choices, for_students: bool = False) -> None:
    """Apply these choices to the register; without any, it is the course's own."""
    register.use(None if choices == Choices() else content(choices, for_students))


def read(course: Path | str) -> Choices:
    """The choices in a course directory; the course's own if it has no file."""
    path = Path(course) / FILE
    if not path.is_file():
        return Choices()
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as problem:
        raise CourseError(f"{path} can't be read as text: {problem}.") from None
    except tomllib.TOMLDecodeError as problem:
        raise CourseError(f"{path} is not valid TOML: {problem}.") from None
    return _Reader(path, given).choices()


class _Reader:
    """Reads one file; for every wrong value, a sentence names the file and what to write."""

    def __init__(self, path: Path, given: dict):
        self.path, self.given = path, given
        self.known = {e["id"]: e for e in register.own()["exercise"]}
        self.all_notebooks = [entry["name"] for entry in register.own()["notebook"]]

    def wrong(self, sentence: str) -> CourseError:
        return CourseError(f"{self.path}: {sentence}")

    def choices(self) -> Choices:
        self._among("", self.given, KEYS, "a setting")
        notebooks, core_only = self._notebooks()
        timezone = self._timezone()
        chosen = notebooks or self.all_notebooks
        left_out = frozenset(self._exercises("leave_out", chosen))
        if core_only:
            left_out |= {
                e["id"]
                for e in self.known.values()
                if e["notebook"] in chosen and not (e["core"] or e.get("retired"))
            } - set(self._list("optional"))
        choices = Choices(
            self._text("title"),
            self._repository(),
            notebooks,
            left_out,
            frozenset(self._exercises("optional", chosen)),
            frozenset(self._exercises("does_not_count", chosen)),
            frozenset(self._exercises("full_marks", chosen)),
            self._points(chosen),
            self._own_numbers(),
            self._packages(),
            self._due("due", self._table("due"), chosen, timezone),
            self._sections(chosen, timezone),
            self._late(),
            timezone,
        )
        self._check_sense(choices)
        return choices

    def _check_sense(self, choices: Choices) -> None:
        named = {
            "optional": choices.optional,
            "does_not_count": choices.uncounted,
            "full_marks": choices.full_marks,
            "points": frozenset(choices.points),
        }
        for name, found in named.items():
            for exercise in sorted(found & choices.left_out):
                raise self.wrong(
                    f"{exercise} is left out, but `{name}` names it too. Remove it from one of them."
                )
        for exercise in sorted(choices.full_marks & choices.uncounted):
            raise self.wrong(
                f"{exercise} is in `full_marks` and in `does_not_count`. Remove it from one of them."
            )

    def _notebooks(self) -> tuple[tuple[str, ...], bool]:
        names, route = self._list("notebooks"), self._text("route")
        for name in names:
            self._one_of(name, self.all_notebooks, "`notebooks`", "notebook")
        if not route:
            return tuple(names), False
        if names:
            raise self.wrong("it has both `route` and `notebooks`. Keep one of them.")
        found = next((r for r in ROUTES if r.name.casefold() == route.casefold()), None)
        if found is None:
            self._one_of(route, [r.name for r in ROUTES], "`route`", "route")
        assert found is not None
        return found.notebooks, found.core_only

    def _exercises(self, name: str, chosen: Iterable[str]) -> list[str]:
        found = self._list(name)
        for exercise in found:
            self._exercise(exercise, f"`{name}`", chosen)
        return found

    def _exercise(self, exercise: str, where: str, chosen: Iterable[str]) -> None:
        self._one_of(exercise, list(self.known), where, "exercise")
        notebook = self.known[exercise]["notebook"]
        if notebook not in chosen:
            raise self.wrong(
                f"{where} names {exercise}, an exercise of {notebook}, which this class does not "
                "use. Remove it, or add the notebook."
            )

    def _points(self, chosen: Iterable[str]) -> dict[str, float]:
        found = {}
        for exercise, value in self._table("points").items():
            self._exercise(exercise, "[points]", chosen)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise self.wrong(
                    f"[points] gives {exercise} {value!r}. Write a number above 0. To make an "
                    "exercise worth nothing, put it into `does_not_count`."
                )
            if value > 1000:
                raise self.wrong(f"[points] gives {exercise} {value:g}; at most 1000 are allowed.")
            found[exercise] = float(value)
        return found

    def _own_numbers(self) -> bool | None:
        value = self.given.get("own_numbers")
        if value is not None and not isinstance(value, bool):
            raise self.wrong(f"`own_numbers` is {value!r}; write true or false.")
        return value

    def _packages(self) -> tuple[str, ...]:
        found = self._list("packages")
        for name in found:
            if not PACKAGE.fullmatch(name):
                raise self.wrong(
                    f"`packages` has {name!r}. Write the name that `pip install` takes, without a "
                    'version: "einops".'
                )
        return tuple(dict.fromkeys(found))

    def _repository(self) -> str:
        address = self._text("repository")
        if address and not re.fullmatch(r"https://[^\s\"'<>\\]+", address):
            raise self.wrong(
                f"`repository` is {address!r}. Write the whole address of the published copy, such "
                'as "https://github.com/your-name/attention-course".'
            )
        return address.removesuffix("/")

    def _timezone(self) -> str:
        name = self._text("timezone")
        if name:
            try:
                ZoneInfo(name)
            except Exception:  # zoneinfo raises various errors for names that are not time zones
                raise self.wrong(
                    f'`timezone` is {name!r}, which is not a time zone. Write one such as "Europe/Berlin".'
                ) from None
        return name

    def _due(
        self, where: str, table: dict, chosen: Iterable[str], timezone: str
    ) -> dict[str, datetime]:
        found = {}
        for name, value in table.items():
            self._one_of(name, list(chosen), f"[{where}]", "notebook of this class")
            if isinstance(value, str):
                with contextlib.suppress(ValueError):
                    value = datetime.fromisoformat(value)
            if isinstance(value, date) and not isinstance(value, datetime):
                raise self.wrong(
                    f"[{where}] gives {name} a date without a time. Write {value}T23:59:00."
                )
            if not isinstance(value, datetime):
                raise self.wrong(
                    f"[{where}] gives {name} {value!r}. Write a date and a time: 2027-03-05T18:00:00."
                )
            if value.tzinfo is None:
                if not timezone:
                    raise self.wrong(
                        f"[{where}] gives {name} {value}, without a time zone. Write "
                        f'{value.isoformat()}Z for UTC, or add timezone = "Europe/Berlin" (yours) at '
                        "the top of the file."
                    )
                value = in_zone(value, ZoneInfo(timezone), max)
            found[name] = value.astimezone(UTC)
        return found

    def _sections(self, chosen: Iterable[str], timezone: str) -> dict[str, Mapping[str, datetime]]:
        found: dict[str, Mapping[str, datetime]] = {}
        for section, table in self._table("sections").items():
            where = f'sections."{section}"'
            if not isinstance(table, dict):
                raise self.wrong(f"[{where}] should be a table that contains `due`.")
            self._among(f"[{where}] has ", table, ("due",), "a setting of a section")
            due = table.get("due", {})
            if not isinstance(due, dict):
                raise self.wrong(
                    f"[{where}.due] should be a table: a notebook and a time per line."
                )
            found[section] = self._due(f"{where}.due", due, chosen, timezone)
        return found

    def _late(self) -> LateRule | None:
        table = self._table("late")
        if not table:
            return None
        self._among("[late] has ", table, ("share_a_day", "free_days"), "a setting of [late]")
        share, free = table.get("share_a_day", 0.1), table.get("free_days", 0)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise self.wrong(
                f"[late] has share_a_day = {share!r}. Write a share between 0 and 1: 0.1 deducts "
                "a tenth of the points per day."
            )
        if isinstance(free, bool) or not isinstance(free, int) or free < 0:
            raise self.wrong(f"[late] has free_days = {free!r}. Write a whole number, 0 or more.")
        return LateRule(float(share), free)

    def _text(self, name: str) -> str:
        value = self.given.get(name, "")
        if not isinstance(value, str):
            raise self.wrong(f"`{name}` is {value!r}; write it between quotes.")
        return value.strip()

    def _list(self, name: str) -> list[str]:
        value = self.given.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.wrong(f'`{name}` should be a list of names: {name} = ["…", "…"].')
        return value

    def _table(self, name: str) -> dict:
        value = self.given.get(name, {})
        if not isinstance(value, dict):
            raise self.wrong(
                f"`{name}` should be a table: a line [{name}], and its settings below."
            )
        return value

    def _among(self, where: str, table: dict, known: tuple[str, ...], what: str) -> None:
        for name in table:
            if name not in known:
                raise self.wrong(
                    f"{where}{name!r} is not {what}.{_near(name, known)} There are: "
                    f"{', '.join(known)}."
                )

    def _one_of(self, name: str, known: list[str], where: str, what: str) -> None:
        if name not in known:
            raise self.wrong(
                f"{where} names {name!r}, but there is no such {what}.{_near(name, known)} There "
                f"are: {', '.join(known)}."
            )


def in_zone(moment: datetime, zone: ZoneInfo, which: Callable = max) -> datetime:
    """A wall-clock time in a time zone. When the clocks change it may occur twice, or not at all:
    `which` chooses, max the later moment and min the earlier one."""
    return which(moment.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))


def _near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f" Did you mean {close[0]}?" if close else ""


def import_names(packages: Iterable[str]) -> list[str]:
    """The names under which these packages are imported. Raises CourseError for a missing one."""
    if not packages:
        return []
    by_module = metadata.packages_distributions()
    found = []
    for package in packages:
        wanted = _plain(package)
        own = [m for m, owners in by_module.items() if wanted in map(_plain, owners)]
        if not own:
            raise CourseError(
                f"{FILE} allows the package {package}, but the grader's environment does not have "
                f"it. Install it there (`pip install {package}`), or remove it from `packages`."
            )
        found += [module for module in own if not module.startswith("_")]
    return found


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def content(choices: Choices, for_students: bool = False) -> dict:
    """The register after these choices: what is not used stays readable, as retired.

    An exercise that does not count has no points for students. The grader still judges it by its
    own points, so that it can count again; the gradebook gives it none.
    """
    new = copy.deepcopy(register.own())
    about = new["course"]
    about["title"] = choices.title or about["title"]
    about["repository"] = choices.repository or about["repository"]
    if choices.own_numbers is not None:
        about["own_numbers"] = choices.own_numbers
    about["packages"] = [*about.get("packages", []), *import_names(choices.packages)]
    about["left_out"] = sorted(choices.left_out)
    new["notebook"] = [n for n in new["notebook"] if n["name"] in choices.names]
    for entry in new["exercise"]:
        name = entry["id"]
        entry["points"] = choices.points.get(name, entry["points"])
        if name in choices.optional:
            entry["core"], entry["extra"] = False, True
        if for_students and name in choices.uncounted:
            entry["points"] = 0
        if name in choices.left_out or entry["notebook"] not in choices.names:
            entry["retired"] = True
    return new
