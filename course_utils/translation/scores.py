"""How good translations are: BLEU, and how well attention finds the words that belong together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from sacrebleu.metrics import BLEU

from course_utils.data.corpus import Encoded
from course_utils.data.tokens import detokenise
from course_utils.translation.decoding import gold_weights
from course_utils.translation.model import Translator
from course_utils.translation.results import LengthResult


@dataclass(frozen=True)
class Bleu:
    """BLEU twice: on lower-cased tokens, as in the course's tables, and on plain sentences."""

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
    """BLEU of translations (one list of words per sentence) against the references of a split."""
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


def bleu_by_length(
    words: Sequence[Sequence[str]],
    data: Encoded,
    mechanism: str,
    budget: str,
    seed: int = 0,
    parts: int = 3,
) -> list[LengthResult]:
    """BLEU of translations of the test set, separately for short, medium and long sources.

    The parts have about the same number of sentences; sentences of one length stay together.
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


def links(weights: torch.Tensor) -> set[tuple[int, int]]:
    """For each target word (a row of [T, S]), the source word that it looks at most.

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
    """The best that one link per target word can reach: words such as "opens" have two sources."""
    right = gold_count = 0
    for pairs in gold:
        right += len({target for _, target in pairs})
        gold_count += len(pairs)
    return 1 - 2 * right / (right + gold_count)


def aligned_error_rate(model: Translator, data: Encoded, split: str = "test") -> float:
    """The alignment error rate of a model, for a corpus with known alignments."""
    gold = getattr(data.corpus, split).alignments
    if gold is None:
        raise ValueError(f"{data.corpus.name} has no known alignments: use the built-in corpus.")
    return alignment_error_rate(gold_weights(model, data, split), gold)
