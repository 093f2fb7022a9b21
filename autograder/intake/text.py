"""Cleans every string that a student wrote or chose, where it enters: texts, names, ids, times.

What leaves this module can be stored as UTF-8, even in PostgreSQL, printed in a terminal and used
in a file's name. Every function takes time linear in the length of its text.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime, timedelta
from urllib.parse import quote

from dateutil import parser as dates  # type: ignore[import-untyped]

LONGEST_NAME = 200  # characters of a file's or a person's name
LONGEST_ID = 60  # bytes of an id that we make up
LONGEST_FILE_NAME = 80
LONGEST_SENTENCE = 600
MOST_SENTENCES = 60
MOST_MARKS = 6  # accents on one letter; every script needs fewer
YEARS = range(1990, 2101)

SURROGATE = re.compile("[\ud800-\udfff]")
# Controls except tab and newline, and the marks that reverse the direction of writing, with which
# code can look different from what it runs.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# nbgrader would cut a student's cell at these words, or fail if the second one is missing.
DELIMITERS = re.compile(r"(BEGIN|END) (HIDDEN TESTS|MARK SCHEME)")
TIME = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{1,2}:\d{2}")
NOT_IN_FOLDERS = re.compile(r"[\s/\\:*?\"<>|+;]+")
# A spreadsheet takes a cell that starts with one of these for a formula, and runs it.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
AFTER_SEMICOLON = re.compile(r"(;\s*)([=+\-@＝＋－＠])")


def clean_text(text: str) -> str:
    """Text that can be stored as UTF-8, with one kind of line end and nothing invisible."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return UNSEEN.sub("", SURROGATE.sub("\ufffd", text))


def clean_cell_text(text: str) -> str:
    """The text of a cell, without the words at which nbgrader would cut it."""
    return DELIMITERS.sub(r"\1-\2", clean_text(text))


def clean_name(text: object, longest: int = LONGEST_NAME) -> str:
    """A name on one line, normalised (NFC) and cut to length; empty if it isn't text."""
    if not isinstance(text, str):
        return ""
    if text.isascii() and text.isprintable():  # nearly every name
        return " ".join(text[: 4 * longest].split())[:longest].strip()
    # Cut first: the time to normalise a long pile of accents grows with its square.
    text = _few_marks(SURROGATE.sub("\ufffd", text[: 4 * longest]))
    text = unicodedata.normalize("NFC", " ".join(text.split()))
    return "".join(letter for letter in text if letter.isprintable())[:longest].strip()


def _few_marks(text: str) -> str:
    kept, marks = [], 0
    for letter in text:
        marks = marks + 1 if unicodedata.category(letter) in ("Mn", "Me") else 0
        if marks <= MOST_MARKS:
            kept.append(letter)
    return "".join(kept)


def sentence(text: str) -> str:
    """A sentence for people: on one line, and not endless."""
    text = " ".join(clean_text(text[: 4 * LONGEST_SENTENCE]).split())
    return text if len(text) <= LONGEST_SENTENCE else text[: LONGEST_SENTENCE - 1] + "…"


def sentences(found: Iterable[str]) -> tuple[str, ...]:
    """Each sentence once, and no more of them than a person would read."""
    kept = list(dict.fromkeys(map(sentence, found)))
    more = len(kept) - MOST_SENTENCES
    return (*kept[:MOST_SENTENCES], f"And {more} more like these.") if more > 0 else tuple(kept)


def is_folder_name(text: str) -> bool:
    """True if a text can be a folder's name: no separators, no '..', nothing unprintable."""
    return (
        bool(text)
        and len(text) <= 120
        and len(text.encode("utf-8", "replace")) <= 240
        and text.isprintable()
        and text[0] not in ". "
        and text[-1] != " "
        and not any(mark in text for mark in '/\\:*?"<>|+')
    )


def made_id(text: str) -> str:
    """An id for a person who is not on the roster: a short folder name, or empty."""
    # ids are in every table that we write: none may start a formula
    text = NOT_IN_FOLDERS.sub("_", clean_name(text)).strip("._ ").lstrip("=-@'._ ")
    if len(text.encode()) > LONGEST_ID:
        start = text.encode()[: LONGEST_ID - 9].decode("utf-8", "ignore").rstrip("._ ")
        text = f"{start}-{fingerprint(text, 8)}"
    return text if is_folder_name(text) else ""


def harmless(value: str) -> str:
    """A text that no spreadsheet runs: a formula gets an apostrophe in front.

    In much of the world a spreadsheet splits at semicolons too, so what follows one may begin a cell.
    """
    text = AFTER_SEMICOLON.sub(r"\1'\2", value.replace("\x00", ""))
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) else text


def file_name(text: str) -> str:
    """The name of a file that we write: short, ASCII, and different for every text."""
    safe = quote(text.encode("utf-8", "backslashreplace"), safe=" @+,=")
    if safe.startswith("."):
        safe = safe.replace(".", "%2E")
    if len(safe) <= LONGEST_FILE_NAME:
        return safe
    stem, dot, ending = text.rpartition(".")
    ending = dot + ending if stem and re.fullmatch(r"[A-Za-z0-9]{1,8}", ending) else ""
    start = re.sub(r"[^A-Za-z0-9_-]+", "_", text[: 2 * LONGEST_FILE_NAME]).strip("_")[:40]
    return f"{start or 'file'}-{fingerprint(text, 16)}{ending}"


def fingerprint(text: str, letters: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:letters]


def plain(text: str) -> str:
    """A name without case, accents, spaces and punctuation, for comparing.

    The accents of Latin letters go; the vowels of Thai or Hindi, which are marks too, stay.
    """
    text = unicodedata.normalize("NFKD", clean_name(text).casefold())
    return "".join(letter for letter in text if letter.isalnum() or _tells(letter))


def _tells(letter: str) -> bool:
    if "\u0300" <= letter <= "\u036f" or "\ufe00" <= letter <= "\ufe0f":
        return False
    return unicodedata.category(letter) in ("Mn", "Mc", "So")


def moment(text: object) -> datetime | None:
    """A time as nbgrader and Gradescope write it; None for anything else, or if out of range."""
    if isinstance(text, str):
        text = text.strip()
        if len(text) > 80 or not TIME.match(text):
            return None
        try:
            text = dates.parse(text)
        except (ValueError, OverflowError, TypeError, AttributeError):
            return None
    if not isinstance(text, datetime) or text.year not in YEARS:
        return None
    try:
        offset = text.utcoffset()
    except (ValueError, OverflowError, TypeError):
        return None
    return text if offset is None or abs(offset) < timedelta(days=1) else None
