"""One vocabulary: each symbol of a notebook's formulas is declared in symbols.toml, once.

The build refuses a formula with a symbol that nobody declared, and closes the notebook with a table
of its symbols. A declared name may have a subscript (`W_Q`); then it is not taken for `W`.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("symbols.toml")
EVERYWHERE = "everywhere"

FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$(?!\s)([^$\n]+?(?:\n[^$\n]+?)*?)(?<!\s)\$", re.S)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)
GREEK = re.findall(
    r"\w+",
    "alpha beta gamma delta epsilon varepsilon zeta eta theta lambda mu nu xi pi rho sigma tau "
    "phi varphi chi psi omega Gamma Delta Theta Lambda Pi Sigma Phi Psi Omega ell",
)
# Words in formulas, and the environments around them.
WORDS = re.compile(
    r"\\(?:text|textbf|texttt|mathrm|operatorname|mathtt|begin|end|mathbb)\*?\s*\{[^{}]*\}|\\(?:left|right)\b"
)
ACCENTS = ("hat", "tilde", "bar", "vec", "overrightarrow", "overleftarrow")
DECORATED = rf"\\(?:{'|'.join(ACCENTS)})\s*\{{?\s*(?:[A-Za-z]|\\[a-zA-Z]+)\s*\}}?"
NAME = rf"(?:{DECORATED}|\\(?:{'|'.join(GREEK)})(?![A-Za-z])|[A-Za-z])"
TOKEN = re.compile(rf"(?P<name>{NAME})(?P<sub>_(?:\{{[^{{}}]*\}}|[A-Za-z0-9]))?|\\[A-Za-z]+")


class SymbolError(Exception):
    """A symbol that is not declared, or declared twice: a sentence."""


@cache
def declared() -> dict[str, dict[str, str]]:
    try:
        return tomllib.loads(FILE.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise SymbolError(f"{FILE.name}: {problem}. Is a symbol declared twice?") from None


def of(notebook: str) -> dict[str, str]:
    """The symbols that a notebook may use, with their meanings."""
    common, own = declared().get(EVERYWHERE, {}), declared().get(notebook, {})
    twice = sorted(common.keys() & own.keys())
    if twice:
        raise SymbolError(
            f"{FILE.name} declares {twice[0]} for {notebook} and for every notebook: keep one."
        )
    return {**common, **own}


def formulas(markdown: str) -> list[str]:
    return [one or other for one, other in FORMULA.findall(CODE.sub(" ", markdown))]


def used(formula: str, known: dict[str, str]) -> set[str]:
    """The symbols of a formula, as declared or, if they are not declared, as written."""
    found: set[str] = set()
    for match in TOKEN.finditer(WORDS.sub(" ", formula)):
        name, subscript = match["name"], match["sub"]
        if name is None:
            continue  # a command such as \sum or \sqrt
        name = re.sub(r"[{}\s]", "", name)
        plain = re.sub(r"[{}\s]", "", subscript or "")
        if name + plain in known:
            found.add(name + plain)
            continue
        found.add(name)
        if plain:
            found |= used(plain[1:], known)
    return found


def check(notebook: str, markdown: list[str]) -> list[str]:
    """The symbols that a notebook uses, in the order of their declaration."""
    known = of(notebook)
    met: set[str] = set()
    for text in markdown:
        for formula in formulas(text):
            symbols = used(formula, known)
            strange = sorted(symbols - known.keys())
            if strange:
                raise SymbolError(
                    f"the formula ${' '.join(formula.split())}$ uses {', '.join(strange)}, which "
                    f"{FILE.name} does not declare for {notebook}."
                )
            met |= symbols
    return [name for name in known if name in met]


def _as_formula(name: str) -> str:
    """A declared name has no spaces; LaTeX needs one between `\\bar` and the letter under it."""
    return re.sub(rf"^(\\(?:{'|'.join(ACCENTS)}))(?=[A-Za-z])", r"\1 ", name)


def table(notebook: str, symbols: list[str]) -> str:
    known = of(notebook)
    rows = [f"| ${_as_formula(name)}$ | {known[name]} |" for name in symbols]
    return "\n".join(["| symbol | meaning |", "| --- | --- |", *rows])
