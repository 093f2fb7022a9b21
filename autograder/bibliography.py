"""The works that the course borrows from, in one file, and their citations in the sources.

The file is CSL-JSON, which reference managers import. The build turns citations into links and ends
the notebook with a list of what it cites:

    [@luong2015]                ([Luong et al., 2015](…)), after what was borrowed
    [@luong2015; @post2018]     ([Luong et al., 2015](…); [Post, 2018](…))
    @[luong2015]                [Luong et al. (2015)](…), as a part of the sentence
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any

FILE = Path(__file__).with_name("bibliography.json")
CITATION = re.compile(r"\[(@[\w-]+(?:;\s*@[\w-]+)*)\]|@\[([\w-]+)\]")


class UnknownWork(Exception):
    """A citation of something that is not in the bibliography: a sentence."""


@dataclass(frozen=True)
class Work:
    key: str
    kind: str  # "document" is teaching material, everything else is published work
    authors: tuple[str, ...]  # family names
    year: str  # with a letter if the same authors have several works of that year
    title: str
    published: str
    address: str

    @property
    def names(self) -> str:
        """The names to cite: one author, two, or the first and "et al."; the title if there is none."""
        if len(self.authors) > 2 or "et al." in self.authors:
            return f"{self.authors[0]} et al."
        return " and ".join(self.authors) or f"“{self.title}”"

    @property
    def label(self) -> str:
        """The name in brackets: "Luong et al., 2015"."""
        return f"{self.names}, {self.year}" if self.year else self.names

    @property
    def mention(self) -> str:
        """The name in a sentence: "Luong et al. (2015)"."""
        return f"{self.names} ({self.year})" if self.year else self.names

    def link(self, words: str) -> str:
        return f"[{words}]({self.address})" if self.address else words

    @property
    def reference(self) -> str:
        """The line in a list of references, as Markdown."""
        names = ", ".join(self.authors)
        who = f"{names} ({self.year}). " if names and self.year else f"{names}. " if names else ""
        return f"{who}{self.link(self.title)}. *{self.published}*."


@cache
def works() -> dict[str, Work]:
    """Every work by its key, in the order of the file."""
    listed = [_work(entry) for entry in json.loads(FILE.read_text(encoding="utf-8"))]
    alike: dict[str, list[Work]] = {}
    for one in listed:
        alike.setdefault(one.label, []).append(one)
    return {one.key: _with_letter(one, alike[one.label]) for one in listed}


def _with_letter(one: Work, alike: list[Work]) -> Work:
    """The work as 2014a, 2014b, ... if others would be cited by the same name and year."""
    if len(alike) == 1:
        return one
    return replace(one, year=f"{one.year}{ascii_lowercase[alike.index(one)]}")


def _work(entry: dict[str, Any]) -> Work:
    dates = entry.get("issued", {}).get("date-parts", [[None]])
    return Work(
        key=entry["id"],
        kind=entry["type"],
        authors=tuple(name.get("family") or name["literal"] for name in entry["author"]),
        year=str(dates[0][0] or ""),
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
    """The text with its citations as links, or as plain names if a work has no address."""

    def linked(match: re.Match) -> str:
        if match[2]:
            return work(match[2]).link(work(match[2]).mention)
        listed = [work(key) for key in _keys(match)]
        return f"({'; '.join(entry.link(entry.label) for entry in listed)})"

    return CITATION.sub(linked, text)


def _keys(citation: re.Match) -> list[str]:
    return [citation[2]] if citation[2] else re.findall(r"@([\w-]+)", citation[1])


def cited(text: str) -> list[Work]:
    """The works that a text cites, each once, by name and year."""
    keys = {key: None for citation in CITATION.finditer(text) for key in _keys(citation)}
    return in_order(work(key) for key in keys)


def in_order(listed: Iterable[Work]) -> list[Work]:
    """The works by name and year, or by title if they have no author."""
    return sorted(listed, key=lambda w: (w.label.strip("“”").lower(), w.title))


def reference_list(cited_works: list[Work]) -> str:
    return "\n".join(f"- {entry.reference}" for entry in cited_works)
