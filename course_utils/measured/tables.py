"""Read and write measured tables: CSV files with the command that wrote them in the first line."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

Row = TypeVar("Row")


def read_table(path: Path, kind: type[Row]) -> list[Row]:
    """The rows of a table as dataclasses of one kind; empty if there is no file."""
    if not path.exists():
        return []
    types = get_type_hints(kind)
    with path.open(newline="", encoding="utf-8") as file:
        lines = (line for line in file if not line.startswith("#"))
        return [
            kind(**{name: types[name](value) for name, value in row.items()})
            for row in csv.DictReader(lines)
        ]


def write_table(path: Path, rows: Sequence[Any], command: str) -> None:
    """Write dataclasses of one kind through a temporary file, so an interruption loses nothing."""
    temporary = path.with_suffix(".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary.open("w", newline="", encoding="utf-8") as file:
        file.write(f"# {command}\n")
        names = [field.name for field in fields(rows[0])]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    os.replace(temporary, path)


def measure_missing(
    path: Path,
    kind: type[Row],
    settings: Sequence[dict[str, Any]],
    measure: Callable[..., Row],
    command: str,
) -> list[Row]:
    """Run `measure(**setting)` for each setting that the table does not hold yet.

    A setting holds the fields of a row that are chosen; the others are measured. The table is
    written after every run, so a benchmark can be stopped and started at any time.
    """
    rows = read_table(path, kind)

    def is_there(setting: dict[str, Any]) -> bool:
        return any(all(getattr(r, k) == v for k, v in setting.items()) for r in rows)

    missing = [setting for setting in settings if not is_there(setting)]
    print(f"{path.name}: {len(rows)} runs done, {len(missing)} to go", flush=True)
    for setting in missing:
        rows.append(measure(**setting))
        write_table(path, rows, command)
        print(rows[-1], flush=True)
    return rows
