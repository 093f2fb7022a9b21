"""How good a translator is: BLEU, alignment errors, attention diagrams, and the measured table."""

from __future__ import annotations

import base64
import csv
import html
import io
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from sacrebleu.metrics import BLEU

from course_utils.data.corpus import Encoded
from course_utils.data.tokens import detokenise
from course_utils.measured import FOLDER
from course_utils.training.history import History
from course_utils.translation.model import Translation, Translator, gold_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS = FOLDER / "translation_results.csv"
BEAM_RESULTS = RESULTS.with_name("beam_results.csv")
LENGTH_RESULTS = RESULTS.with_name("length_results.csv")


# --- BLEU ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bleu:
    """BLEU twice: on lower-cased tokens, as the assignment counts, and on plain sentences."""

    tokens: float
    plain: float
    tokens_signature: str
    plain_signature: str

    def __str__(self) -> str:
        return (
            f"BLEU {self.tokens:.2f} on lower-cased tokens  ({self.tokens_signature})\n"
            f"BLEU {self.plain:.2f} on plain sentences      ({self.plain_signature})"
        )


def bleu(words: Sequence[Sequence[str]], data: Encoded, split: str = "test") -> Bleu:
    """BLEU of translations (a list of words for each sentence) against a split's references."""
    references = data.target_tokens(split)
    if len(words) != len(references):
        raise ValueError(f"There are {len(words)} translations for {len(references)} references.")
    on_tokens = BLEU(tokenize="none", force=True)
    on_plain = BLEU()
    tokens = on_tokens.corpus_score(
        [" ".join(sentence) for sentence in words],
        [[" ".join(reference) for reference in references]],
    )
    plain = on_plain.corpus_score(
        [detokenise(sentence) for sentence in words],
        [[text.strip() for text in getattr(data.corpus, split).target]],
    )
    return Bleu(
        tokens.score,
        plain.score,
        str(on_tokens.get_signature()),
        str(on_plain.get_signature()),
    )


# --- alignment -----------------------------------------------------------------------------


def links(weights: torch.Tensor) -> set[tuple[int, int]]:
    """For each target word (a row of [T, S]) the source word it looks at most.

    A row without a preference, all zeros or all equal, gives no link.
    """
    found = set()
    for row, values in enumerate(weights.tolist()):
        most = max(values)
        if most > 1.05 / len(values):
            found.add((values.index(most), row))
    return found


def alignment_error_rate(
    weights: Iterable[torch.Tensor], gold: Iterable[frozenset[tuple[int, int]]]
) -> float:
    """1 - 2 |found and gold| / (|found| + |gold|), over all sentences: 0 is perfect, 1 useless."""
    right = found_count = gold_count = 0
    for one, pairs in zip(weights, gold, strict=True):
        found = links(one)
        right += len(found & pairs)
        found_count += len(found)
        gold_count += len(pairs)
    return 1 - 2 * right / (found_count + gold_count)


def best_possible_error_rate(gold: Iterable[frozenset[tuple[int, int]]]) -> float:
    """What one link a target word can reach at best: words such as "opens" have two sources."""
    right = gold_count = 0
    for pairs in gold:
        right += len({target for _, target in pairs})
        gold_count += len(pairs)
    return 1 - 2 * right / (right + gold_count)


def aligned_error_rate(model: Translator, data: Encoded, split: str = "test") -> float:
    """The alignment error rate of a model, where the corpus knows the true alignment."""
    gold = getattr(data.corpus, split).alignments
    if gold is None:
        raise ValueError(f"{data.corpus.name} has no gold alignments: use the built-in corpus.")
    return alignment_error_rate(gold_weights(model, data, split), gold)


# --- pictures with words -----------------------------------------------------------------------


@dataclass(frozen=True)
class Diagram:
    """A figure and the same in words; a notebook shows the one, a screen reader reads the other."""

    figure: Figure
    words: str

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        picture = io.BytesIO()
        self.figure.savefig(picture, format="png", dpi=90)
        code = base64.b64encode(picture.getvalue()).decode()
        words = html.escape(self.words, quote=True)
        image = f'<img alt="{words}" src="data:image/png;base64,{code}" style="max-width:100%">'
        return {"text/html": image, "text/plain": self.words}


# --- attention diagrams --------------------------------------------------------------------


def draw_attention(
    source: Sequence[str],
    target: Sequence[str],
    weights,
    *,
    title: str = "",
    gold: Iterable[tuple[int, int]] = (),
) -> Diagram:
    """A row for each written word, a column for each source word, brighter where it looks.

    Weights of a tenth and more stand in the cells as numbers. `gold` pairs get a frame.
    """
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    values = np.asarray(weights, dtype=float)
    if values.shape != (len(target), len(source)):
        raise ValueError(
            f"The weights have shape {values.shape}, but there are {len(target)} target words "
            f"and {len(source)} source words."
        )
    size = (1.6 + 0.46 * len(source), 1.3 + 0.34 * len(target))
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    axes.imshow(values, cmap="gray", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(source)), source, rotation=50, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(target)), target)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.set_xticks(np.arange(len(source) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(target) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="#4a4a4a", linewidth=0.5)
    axes.tick_params(which="minor", length=0)
    for (row, column), value in np.ndenumerate(values):
        if value >= 0.095:
            colour = "black" if value > 0.5 else "white"
            text = f"{value:.1f}".lstrip("0") if value < 0.95 else "1"
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
    for column, row in gold:
        axes.add_patch(
            Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, ec="#e8871e", lw=1.6)
        )
    if title:
        axes.set_title(title, fontsize=10, loc="left")
    plt.close(figure)
    heading = f"Attention diagram {title}".strip()
    return Diagram(figure, f"{heading}\n{describe_attention(source, target, values)}")


def describe_attention(source: Sequence[str], target: Sequence[str], weights) -> str:
    """The same diagram in words, for those who cannot see it."""
    lines = []
    for word, row in zip(target, np.asarray(weights, dtype=float), strict=True):
        order = [place for place in np.argsort(-row, kind="stable")[:2] if row[place] >= 0.005]
        seen = ", ".join(f"{source[place]} {row[place]:.2f}" for place in order)
        lines.append(f"{word}: {seen or 'nothing'}")
    return "\n".join(lines)


def save_diagrams(
    translations: Sequence[Translation],
    data: Encoded,
    places: Sequence[int],
    *,
    split: str = "test",
    folder: str | Path = "examples",
) -> list[Path]:
    """Draw the translations at these places of a split and save them as pictures."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    sources = data.source_tokens(split)
    paths = []
    for place in places:
        one = translations[place]
        target = [*one.words, "</s>"][: len(one.weights)]
        diagram = draw_attention(sources[place], target, one.weights)
        path = folder / f"{split}_{place:04d}.png"
        diagram.figure.savefig(path, dpi=110)
        paths.append(path)
    return paths


# --- the measured table --------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """One training run, as it stands in the table of results.

    `minutes` is by the clock on a machine that may be busy, `cpu_minutes` what the cores did.
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
        """What a finished training and its BLEU say, in the table's digits."""
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


# Mean and variance over three runs in the assignment's sample answer, and the BLEU of another
# student's published report.
DOCUMENT = {"Dummy": 28.27, "MeanPool": 29.60, "scaled dot-product": 31.50}
OTHER_REPORT = {"Dummy": 16.3, "MeanPool": 18.6, "scaled dot-product": 34.6}
MECHANISMS = tuple(DOCUMENT)


@dataclass(frozen=True)
class BeamResult:
    """BLEU of one trained model with one width of the beam; a penalty of 1 is the mean a word."""

    budget: str
    beam: int
    length_penalty: float
    bleu_tokens: float
    bleu_plain: float
    seconds: float


@dataclass(frozen=True)
class LengthResult:
    """BLEU of one model on the test sentences whose source has a certain length."""

    mechanism: str
    budget: str
    seed: int
    shortest: int
    longest: int
    sentences: int
    bleu_tokens: float


def bleu_by_length(
    words: Sequence[Sequence[str]],
    data: Encoded,
    mechanism: str,
    budget: str,
    seed: int = 0,
    parts: int = 3,
) -> list[LengthResult]:
    """BLEU of translations of the test set, for short, middling and long sources apart.

    The parts hold about equally many sentences; those of one length stay together.
    """
    references = data.target_tokens("test")
    if len(words) != len(references):
        raise ValueError(f"There are {len(words)} translations for {len(references)} references.")
    lengths = [len(example.source) for example in data.test]
    edges = sorted({sorted(lengths)[len(lengths) * part // parts] for part in range(parts)})
    found = []
    for low, high in zip(edges, [*edges[1:], max(lengths) + 1], strict=True):
        chosen = [place for place, length in enumerate(lengths) if low <= length < high]
        score = BLEU(tokenize="none", force=True).corpus_score(
            [" ".join(words[place]) for place in chosen],
            [[" ".join(references[place]) for place in chosen]],
        )
        found.append(
            LengthResult(mechanism, budget, seed, low, high - 1, len(chosen), round(score.score, 2))
        )
    return found


def length_text(results: Sequence[LengthResult]) -> str:
    """BLEU by length as a table in plain text: a line for each model."""
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
    kinds = {field.name: field.type for field in fields(kind)}
    read = {"str": str, "int": int, "float": float}
    with path.open(encoding="utf-8", newline="") as file:
        return [
            kind(**{name: read[kinds[name]](value) for name, value in row.items()})
            for row in csv.DictReader(file)
        ]


def add_result(result: Result | BeamResult | LengthResult, path: Path = RESULTS) -> None:
    """Write one more run into the table, whole or not at all."""
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
    """One line for each mechanism, over all its runs; the variance needs two runs or more."""
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
    """The comparison as a table in plain text, the published figures beside it."""
    widths = {"mechanism": 22, "runs": 5, "BLEU mean": 11, "variance": 10, "loss mean": 11}
    columns = [*widths, "variance", "document", "other"]

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
                    number(s.loss_variance, 4),
                    number(DOCUMENT.get(s.mechanism), 2),
                    number(OTHER_REPORT.get(s.mechanism), 1),
                ]
            )
        )
    return "\n".join(lines)


def comparison_plot(results: Sequence[Result]) -> Diagram:
    """Every run as a dot, the mean as a bar, and the two published figures beside it."""
    import matplotlib.pyplot as plt

    summaries = summarise(results)
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for place, summary in enumerate(summaries):
        scores = [r.bleu_tokens for r in results if r.mechanism == summary.mechanism]
        axes.bar(place, summary.bleu_mean, width=0.5, color="#9db8d9", zorder=1)
        axes.plot([place] * len(scores), scores, "o", color="#1f4e8c", ms=5, zorder=2)
        axes.annotate(
            f"{summary.bleu_mean:.1f}", (place - 0.28, summary.bleu_mean), ha="right", va="center"
        )
        for shift, mark, published in ((0.36, "s", DOCUMENT), (0.46, "^", OTHER_REPORT)):
            if summary.mechanism in published:
                axes.plot(
                    place + shift, published[summary.mechanism], mark, color="#b4571a", mfc="none"
                )
    handles = [
        axes.plot([], [], "o", color="#1f4e8c", label="one run here")[0],
        axes.plot([], [], "s", color="#b4571a", mfc="none", label="the assignment's answer")[0],
        axes.plot([], [], "^", color="#b4571a", mfc="none", label="another report")[0],
    ]
    axes.legend(handles=handles, frameon=False, fontsize=8, loc="upper left")
    axes.set_xticks(range(len(summaries)), [summary.mechanism for summary in summaries])
    axes.set(ylabel="test BLEU", ylim=(0, 44), xlim=(-0.6, len(summaries) - 0.2))
    axes.spines[["top", "right"]].set_visible(False)
    plt.close(figure)
    means = "; ".join(f"{s.mechanism} {s.bleu_mean:.1f} over {s.runs} runs" for s in summaries)
    return Diagram(figure, f"Test BLEU by mechanism, mean of the runs: {means}.")
