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
        rows = read_rows(FOLDER / self.data)
        return {name: _shown(name, figure, rows) for name, figure in self.figures.items()}


def load_claims(path: Path = REGISTER) -> dict[str, Claim]:
    """All entries, by name."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: Claim(name=name, **entry) for name, entry in entries.items()}


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a measured table as text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def _shown(name: str, figure: dict[str, Any], rows: list[dict[str, str]]) -> str:
    """One figure as text: the mean, and the range where the runs differ when it is shown."""
    where = figure["where"]
    found = [
        float(row[figure["column"]])
        for row in rows
        if all(row[key] == str(value) for key, value in where.items())
    ]
    if not found:
        raise LookupError(f"The figure {name!r} has no row with {where}.")
    show = figure.get("show", "{:.0%}")
    low, middle, high = (show.format(v) for v in (min(found), mean(found), max(found)))
    return middle if low == high else f"{middle} ({low} to {high})"
