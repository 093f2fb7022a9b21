"""The register of measured claims: what a notebook claims, from which table, and who doubted it.

A claim is a sentence with placeholders, such as {half}. Each placeholder names a column of the
claim's table and the rows that count, so no figure is written by hand. A figure may name its own
table (`data`) or seeds (`seeds`) if they differ from those of its claim.
"""

from __future__ import annotations

import csv
import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from course_utils.measured import FOLDER

REGISTER = FOLDER / "claims.toml"
FORMS = ("both", "mean", "low", "high", "range", "runs")
NUMBERS = ("no run", "one run", "two runs", "three runs", "four runs", "five runs")


@dataclass(frozen=True)
class Claim:
    """One entry of the register.

    tried  how somebody tried to refute it
    came   what came of that; its placeholders are filled like those of the claim
    """

    name: str
    notebook: str
    claim: str
    command: str
    seeds: list[int]
    data: str
    refute: str
    tried: str
    came: str
    figures: dict[str, dict[str, Any]]

    @property
    def sentence(self) -> str:
        """The claim with its figures."""
        return self.claim.format(**self.values())

    @property
    def outcome(self) -> str:
        """What the attempt to refute it gave, with its figures."""
        return self.came.format(**self.values())

    @property
    def runs(self) -> str:
        """The table and seeds that the figures come from, and the figures with others."""
        others = [
            f"{name}: {_table_and_seeds(figure.get('data', self.data), figure.get('seeds', self.seeds))}"
            for name, figure in self.figures.items()
            if {"data", "seeds"} & figure.keys()
        ]
        return "; ".join([_table_and_seeds(self.data, self.seeds), *others])

    def values(self) -> dict[str, str]:
        """All figures as text, each with its range if the runs differ."""
        return {name: self.value(name) for name in self.figures}

    def value(self, name: str, form: str = "both") -> str:
        """One figure as text: mean, low, high or range over its runs, how many, mean and range."""
        if name not in self.figures:
            known = ", ".join(self.figures)
            raise LookupError(f"The claim {self.name!r} has no figure {name!r}. It has: {known}.")
        if form not in FORMS:
            raise LookupError(f"{form!r} is not a form of a figure. There are: {', '.join(FORMS)}.")
        figure = self.figures[name]
        found = [float(row[figure["column"]]) for row in self.rows(name)]
        if form == "runs":
            return NUMBERS[len(found)] if len(found) < len(NUMBERS) else f"{len(found)} runs"
        show = figure.get("show", "{:.0%}")
        low, middle, high = (show.format(v) for v in (min(found), mean(found), max(found)))
        spread = low if low == high else f"{low} to {high}"
        both = middle if low == high else f"{middle} ({spread})"
        return {"both": both, "mean": middle, "low": low, "high": high, "range": spread}[form]

    def rows(self, name: str) -> list[dict[str, str]]:
        """The rows of the table that a figure counts."""
        figure = self.figures[name]
        where = {key: str(value) for key, value in figure["where"].items()}
        table = read_rows(FOLDER / figure.get("data", self.data))
        found = [row for row in table if where.items() <= row.items()]
        if not found:
            raise LookupError(f"The figure {name!r} has no row with {figure['where']}.")
        return found


def load_claims(path: Path = REGISTER) -> dict[str, Claim]:
    """All entries, by name."""
    return _claims(path.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=4)
def _claims(text: str) -> dict[str, Claim]:
    return {name: Claim(name=name, **entry) for name, entry in tomllib.loads(text).items()}


def figure(reference: str) -> str:
    """The figure that "NAME.FIGURE" or "NAME.FIGURE FORM" names, such as "channel-line.half low"."""
    place, _, form = reference.partition(" ")
    name, _, which = place.partition(".")
    claims = load_claims()
    if name not in claims:
        raise LookupError(f"There is no claim {name!r} in {REGISTER.name}.")
    return claims[name].value(which, form.strip() or "both")


def _table_and_seeds(table: str, seeds: list[int]) -> str:
    return f"{table}, seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a measured table as text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))
