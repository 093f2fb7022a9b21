"""The measured runs of translators: their tables are read, extended and summarised here."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_utils.measured import FOLDER

if TYPE_CHECKING:
    from course_utils.training.history import History
    from course_utils.translation.scores import Bleu

RESULTS = FOLDER / "translation_results.csv"
BEAM_RESULTS = FOLDER / "beam_results.csv"
LENGTH_RESULTS = FOLDER / "length_results.csv"
TRANSFORMER_RESULTS = FOLDER / "transformer_results.csv"


@dataclass(frozen=True)
class Result:
    """One training run, as one row of the table of results.

    `minutes` is clock time on a machine that may be busy, `cpu_minutes` the time of its cores.
    """

    mechanism: str
    seed: int
    budget: str
    minutes: float
    cpu_minutes: float
    valid_loss: float
    bleu_tokens: float
    bleu_plain: float

    @classmethod
    def of(
        cls,
        mechanism: str,
        seed: int,
        budget: str,
        history: History,
        score: Bleu,
        cpu_minutes: float = math.nan,
    ) -> Result:
        """The row of a finished training run and its BLEU, rounded as in the table."""
        return cls(
            mechanism,
            seed,
            budget,
            round(history.seconds / 60, 2),
            round(cpu_minutes, 2),
            round(history.best_loss, 4),
            round(score.tokens, 2),
            round(score.plain, 2),
        )


# Mean BLEU over three runs in the sample answer of the course from which the task comes, and the
# BLEU in a student's published report.
DOCUMENT = {"Dummy": 28.27, "MeanPool": 29.60, "scaled dot-product": 31.50}
OTHER_REPORT = {"Dummy": 16.3, "MeanPool": 18.6, "scaled dot-product": 34.6}
MECHANISMS = tuple(DOCUMENT)


@dataclass(frozen=True)
class BeamResult:
    """BLEU of one trained model with one beam width; a penalty of 1 means the mean per word."""

    budget: str
    beam: int
    length_penalty: float
    bleu_tokens: float
    bleu_plain: float
    seconds: float


@dataclass(frozen=True)
class LengthResult:
    """BLEU of one model on the test sentences of certain source lengths."""

    mechanism: str
    budget: str
    seed: int
    shortest: int
    longest: int
    sentences: int
    bleu_tokens: float


def length_text(results: Sequence[LengthResult]) -> str:
    """BLEU by length as a plain-text table, one line per model."""
    spans = list(dict.fromkeys((r.shortest, r.longest) for r in results))
    models = list(dict.fromkeys((r.mechanism, r.seed) for r in results))
    known = {(r.mechanism, r.seed, (r.shortest, r.longest)): r.bleu_tokens for r in results}
    lines = [f"{'BLEU, words in the source':<28}" + "".join(f"{a:>8} to {b}" for a, b in spans)]
    for mechanism, seed in models:
        cells = [known.get((mechanism, seed, span)) for span in spans]
        shown = ("" if cell is None else f"{cell:.1f}" for cell in cells)
        widths = [8 + len(f" to {b}") for _, b in spans]
        lines.append(
            f"{mechanism:<28}"
            + "".join(f"{text:>{w}}" for text, w in zip(shown, widths, strict=True))
        )
    return "\n".join(lines)


def read_results(path: Path = RESULTS, kind: type = Result) -> list:
    """The measured runs that come with the course."""
    if not path.exists():
        return []
    read: dict[Any, type] = {"str": str, "int": int, "float": float}
    kinds = {field.name: read[field.type] for field in fields(kind)}
    with path.open(encoding="utf-8", newline="") as file:
        return [
            kind(**{name: kinds[name](value) for name, value in row.items()})
            for row in csv.DictReader(file)
        ]


def add_result(result: Result | BeamResult | LengthResult, path: Path = RESULTS) -> None:
    """Add one run to the table, completely or not at all."""
    rows = [*read_results(path, type(result)), result]
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(result)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    part.replace(path)


@dataclass(frozen=True)
class Summary:
    """Mean and variance over the runs of one mechanism."""

    mechanism: str
    runs: int
    bleu_mean: float
    bleu_variance: float
    loss_mean: float
    loss_variance: float


def summarise(results: Iterable[Result]) -> list[Summary]:
    """One line per mechanism, over all its runs; a variance needs at least two runs."""
    results = list(results)
    summary = []
    for mechanism in dict.fromkeys([*MECHANISMS, *(result.mechanism for result in results)]):
        scores = [r.bleu_tokens for r in results if r.mechanism == mechanism]
        losses = [r.valid_loss for r in results if r.mechanism == mechanism]
        if scores:
            spread = statistics.variance if len(scores) > 1 else lambda _: float("nan")
            summary.append(
                Summary(
                    mechanism,
                    len(scores),
                    statistics.mean(scores),
                    spread(scores),
                    statistics.mean(losses),
                    spread(losses),
                )
            )
    return summary


def comparison_text(summaries: Sequence[Summary]) -> str:
    """The comparison as a plain-text table, with the published figures beside it."""
    widths = {"mechanism": 22, "runs": 5, "BLEU mean": 11, "variance": 10, "loss mean": 11}
    columns = [*widths, "variance", "sample", "report"]

    def line(cells: Iterable[str]) -> str:
        first, *others = zip(cells, columns, strict=True)
        rest = "".join(f"{text:>{widths.get(name, 10)}}" for text, name in others)
        return f"{first[0]:<{widths[first[1]]}}{rest}"

    def number(value: float | None, digits: int) -> str:
        return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"

    lines = [line(columns)]
    for s in summaries:
        lines.append(
            line(
                [
                    s.mechanism,
                    str(s.runs),
                    number(s.bleu_mean, 2),
                    number(s.bleu_variance, 3),
                    number(s.loss_mean, 3),
                    number(s.loss_variance, 6),
                    number(DOCUMENT.get(s.mechanism), 2),
                    number(OTHER_REPORT.get(s.mechanism), 1),
                ]
            )
        )
    return "\n".join(lines)
