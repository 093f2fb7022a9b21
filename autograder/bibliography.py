"""The works that the course borrows from: one file, cited in the sources as [@key].

The file is CSL-JSON, which reference managers import. The build turns [@vaswani2017] into a link
and closes the notebook with a list of what it cites.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("bibliography.json")
CITATION = re.compile(r"\[@([\w-]+)\]")


class UnknownWork(Exception):
    """A citation of something that is not in the bibliography: a sentence."""


@dataclass(frozen=True)
class Work:
    key: str
    kind: str  # "document" is teaching material, everything else is published work
    authors: tuple[str, ...]  # family names
    year: int | None
    title: str
    published: str
    address: str

    @property
    def label(self) -> str:
        """How the text mentions it: "Luong et al., 2015", or the title where no author is named."""
        if not self.authors:
            return self.title
        if len(self.authors) > 2 or "et al." in self.authors:
            names = f"{self.authors[0]} et al."
        else:
            names = " and ".join(self.authors)
        return f"{names}, {self.year}" if self.year else names

    @property
    def reference(self) -> str:
        """The line in a list of references, as Markdown."""
        names = ", ".join(self.authors)
        who = f"{names} ({self.year}). " if names and self.year else f"{names}. " if names else ""
        title = f"[{self.title}]({self.address})" if self.address else self.title
        return f"{who}{title}. *{self.published}*."


@cache
def works() -> dict[str, Work]:
    """Every work by its key, in the order of the file."""
    return {entry["id"]: _work(entry) for entry in json.loads(FILE.read_text(encoding="utf-8"))}


def _work(entry: dict[str, Any]) -> Work:
    dates = entry.get("issued", {}).get("date-parts", [[None]])
    return Work(
        key=entry["id"],
        kind=entry["type"],
        authors=tuple(name.get("family") or name["literal"] for name in entry["author"]),
        year=dates[0][0],
        title=entry["title"],
        published=entry["container-title"],
        address=entry.get("URL", ""),
    )


def work(key: str) -> Work:
    try:
        return works()[key]
    except KeyError:
        raise UnknownWork(f"[@{key}] is not in {FILE.name}.") from None


def fill_in(text: str) -> str:
    """The text with each citation as a link to the work, or as its name where it has no address."""

    def link(match: re.Match) -> str:
        cited = work(match.group(1))
        return f"[{cited.label}]({cited.address})" if cited.address else cited.label

    return CITATION.sub(link, text)


def cited(text: str) -> list[Work]:
    """The works that a text cites, each once, by name and year."""
    keys = dict.fromkeys(CITATION.findall(text))
    return sorted((work(key) for key in keys), key=lambda w: (w.label.lower(), w.title))


def reference_list(cited_works: list[Work]) -> str:
    return "\n".join(f"- {entry.reference}" for entry in cited_works)
