"""The register of measured claims: what a notebook says, which table it comes from, who doubted it.

A claim is a sentence with placeholders, such as {half}. Each placeholder names a column of the
claim's table and the rows that count, so no figure is written by hand.
"""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from course_utils.measured import FOLDER

REGISTER = FOLDER / "claims.toml"
FORMS = ("both", "mean", "low", "high", "range")


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

    def values(self) -> dict[str, str]:
        """All figures as text, each with its range where the runs differ."""
        return {name: self.value(name) for name in self.figures}

    def value(self, name: str, form: str = "both") -> str:
        """One figure as text: its mean, low, high or range over the runs, or mean and range."""
        if name not in self.figures:
            known = ", ".join(self.figures)
            raise LookupError(f"The claim {self.name!r} has no figure {name!r}. It has: {known}.")
        if form not in FORMS:
            raise LookupError(f"{form!r} is not a form of a figure. There are: {', '.join(FORMS)}.")
        figure = self.figures[name]
        found = _numbers(name, figure, read_rows(FOLDER / self.data))
        show = figure.get("show", "{:.0%}")
        low, middle, high = (show.format(v) for v in (min(found), mean(found), max(found)))
        spread = low if low == high else f"{low} to {high}"
        both = middle if low == high else f"{middle} ({spread})"
        return {"both": both, "mean": middle, "low": low, "high": high, "range": spread}[form]


def load_claims(path: Path = REGISTER) -> dict[str, Claim]:
    """All entries, by name."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: Claim(name=name, **entry) for name, entry in entries.items()}


def figure(reference: str) -> str:
    """The figure that "NAME.FIGURE" or "NAME.FIGURE FORM" names, such as "channel-line.half low"."""
    place, _, form = reference.partition(" ")
    name, _, which = place.partition(".")
    claims = load_claims()
    if name not in claims:
        raise LookupError(f"There is no claim {name!r} in {REGISTER.name}.")
    return claims[name].value(which, form.strip() or "both")


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a measured table as text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def _numbers(name: str, figure: dict[str, Any], rows: list[dict[str, str]]) -> list[float]:
    """The entries of a figure's column, in the rows that count."""
    where = figure["where"]
    found = [
        float(row[figure["column"]])
        for row in rows
        if all(row[key] == str(value) for key, value in where.items())
    ]
    if not found:
        raise LookupError(f"The figure {name!r} has no row with {where}.")
    return found
