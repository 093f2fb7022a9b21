"""Measured numbers in prose: filled in from the register of claims, and never typed by hand.

A source contains `{{claim:NAME.FIGURE}}`, or `{{claim:NAME.FIGURE range}}` for another form, and the
build writes the figure from the table that holds it. A number that looks measured and is not
(computed by hand, chosen, or a rough time to wait) is written as `{{given:50%}}`. In the README,
comments around a number do the same: see tools/readme_tables.py.
"""

import re

from course_utils.measured.claims import figure

NUMBER = r"(?<![:.\d])\d(?:[\d.,]*\d)?"
LOOKS_MEASURED = re.compile(
    rf"{NUMBER}\s?\\?%"  # a share
    rf"|{NUMBER}\s+BLEU\b|\bBLEU\s+(?:of\s+|is\s+|was\s+|:\s*)?\d+"
    rf"|{NUMBER}\s+(?:CPU\s+)?(?:seconds?|minutes?|hours?)\b"
    rf"|\b\d+\.\d+\s+times\b"
)
A_SCORE = re.compile(r"(?<![.\d])\d\d\.\d+(?![.\d])")
MARKED = re.compile(r"<!--(?:claim:[^>]*|printed)-->.*?<!--/-->")  # in the README
PLACEHOLDER = re.compile(r"\{\{.*?\}\}", re.S)


def fill(words: str) -> str | None:
    """What replaces `claim:...` or `given:...`; None if the words are neither.

    A claim or a figure that does not exist raises LookupError with a sentence.
    """
    kind, colon, content = words.partition(":")
    if not colon:
        return None
    if kind == "given":
        return content.strip()
    return figure(" ".join(content.split())) if kind == "claim" else None


def typed_by_hand(prose: str) -> list[str]:
    """The numbers in a source's prose that look measured but come from no placeholder."""
    prose = MARKED.sub("", PLACEHOLDER.sub("", prose))
    found = [match.group() for match in LOOKS_MEASURED.finditer(prose)]
    for paragraph in prose.split("\n\n"):
        if "BLEU" in paragraph or "Multi30k" in paragraph:
            found += A_SCORE.findall(paragraph)
    return found
