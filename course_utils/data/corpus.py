"""Sentence pairs in two languages, from Multi30k or from the course's own grammar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from course_utils.data import builtin, multi30k
from course_utils.data.batches import Example
from course_utils.data.tokens import Vocabulary, tokenise

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Pairs:
    """Sentences and their translations; `alignments`, if known, are (source word, target word)."""

    source: list[str]
    target: list[str]
    alignments: list[frozenset[tuple[int, int]]] | None = None

    def __len__(self) -> int:
        return len(self.source)

    def first(self, count: int) -> Pairs:
        alignments = self.alignments[:count] if self.alignments else None
        return Pairs(self.source[:count], self.target[:count], alignments)


@dataclass(frozen=True)
class Corpus:
    """Pairs for training, for validation and for testing."""

    name: str
    languages: tuple[str, str]
    train: Pairs
    valid: Pairs
    test: Pairs

    def __str__(self) -> str:
        source, target = (multi30k.LANGUAGES[language] for language in self.languages)
        return (
            f"{self.name}, {source} to {target}: {len(self.train):,} pairs for training, "
            f"{len(self.valid):,} for validation, {len(self.test):,} for testing."
        )


def load_corpus(
    source: str = "de",
    *,
    builtin_only: bool = False,
    say: Callable[[str], None] = print,
    **places,
) -> Corpus:
    """Multi30k from `source` (`"de"` or `"fr"`) to English; without a network, the built-in corpus.

    A printed line says which one it is. `places` goes to `multi30k.find_or_download`.
    """
    if source not in ("de", "fr"):
        raise ValueError(f'The source language must be "de" or "fr", not {source!r}.')
    languages = (source, "en")
    if not builtin_only:
        try:
            folder = multi30k.find_or_download(languages, say=say, **places)
        except multi30k.CannotDownload as problem:
            say(f"{problem}")
            say("This run therefore uses the built-in corpus, which is German to English.")
        else:
            corpus = _read_multi30k(folder, languages, say)
            say(f"{corpus}")
            return corpus
    elif source != "de":
        say("The built-in corpus has no French, so this run uses German.")
    corpus = builtin_corpus()
    say(f"{corpus}")
    return corpus


def _read_multi30k(folder, languages, say) -> Corpus:
    splits = {}
    for split in SPLITS:
        source, target = multi30k.read_split(folder, split, languages)
        pairs = list(zip(source, target, strict=True))
        full = [pair for pair in pairs if all(tokenise(side) for side in pair)]
        if len(full) < len(pairs):
            empty = len(pairs) - len(full)
            say(
                f"{empty} pair{'s are' if empty > 1 else ' is'} left out of {split}: one side is empty."
            )
        if not full:
            raise multi30k.DataError(
                f"The files for {split} in {folder} contain no sentence pairs."
            )
        splits[split] = Pairs([one for one, _ in full], [other for _, other in full])
    return Corpus("Multi30k", languages, **splits)


def builtin_corpus() -> Corpus:
    """The German-English pairs of the course's own grammar, with the true word alignments."""
    splits = {
        split: Pairs(
            [pair.german for pair in pairs],
            [pair.english for pair in pairs],
            [pair.alignment for pair in pairs],
        )
        for split, pairs in builtin.splits().items()
    }
    return Corpus("Built-in corpus", ("de", "en"), **splits)


@dataclass(frozen=True)
class Encoded:
    """A corpus as numbers: two vocabularies, and the examples of each split."""

    corpus: Corpus
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    train: list[Example]
    valid: list[Example]
    test: list[Example]

    def source_tokens(self, split: str) -> list[list[str]]:
        return [tokenise(text) for text in getattr(self.corpus, split).source]

    def target_tokens(self, split: str) -> list[list[str]]:
        return [tokenise(text) for text in getattr(self.corpus, split).target]


def encode(corpus: Corpus, min_count: int = 2) -> Encoded:
    """Number the words; those that occur less than `min_count` times in training become `<unk>`."""
    tokens = {
        split: (
            [tokenise(text) for text in getattr(corpus, split).source],
            [tokenise(text) for text in getattr(corpus, split).target],
        )
        for split in SPLITS
    }
    source_vocabulary, target_vocabulary = (
        Vocabulary.from_sentences(side, min_count) for side in tokens["train"]
    )
    examples = {
        split: [
            Example(place, source_vocabulary.encode(one), target_vocabulary.encode(other))
            for place, (one, other) in enumerate(zip(*sides, strict=True))
        ]
        for split, sides in tokens.items()
    }
    return Encoded(corpus, source_vocabulary, target_vocabulary, **examples)
