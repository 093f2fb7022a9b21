"""Split sentences into words, number the words, and join them again."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

# The numbers of the special tokens, the same in every vocabulary of the course, and their names.
# Strings are made of known letters, so they have no UNKNOWN, and it comes last.
PAD, START, END, UNKNOWN = 0, 1, 2, 3
SPECIAL_WORDS = ("<pad>", "<s>", "</s>", "<unk>")
NEVER_WRITTEN = [PAD, UNKNOWN, START]  # a translation has words, and an end

# A word, an English ending such as 's, or any other visible character on its own.
_TOKEN = re.compile(r"'(?:s|t|m|d|re|ve|ll)\b|\w+|[^\w\s]")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "„": '"'})


def clean(text: str) -> str:
    """The same text with a single form for each accent, quotation mark and space."""
    return " ".join(unicodedata.normalize("NFC", text).translate(_QUOTES).split())


def tokenise(text: str) -> list[str]:
    """The lower-cased words and marks of a sentence, in order."""
    return _TOKEN.findall(clean(text).lower())


def detokenise(tokens: Sequence[str]) -> str:
    """A readable sentence from tokens: punctuation joined to words, the first letter a capital."""
    text = ""
    open_quote = False
    glue = True
    for token in tokens:
        if token == '"':
            text += token if (glue or open_quote) else " " + token
            open_quote = not open_quote
            glue = open_quote
        elif token in {"-", "/"}:
            text += token
            glue = True
        elif token in {".", ",", "!", "?", ";", ":", ")", "%"} or token.startswith("'"):
            text += token
            glue = token == "'"
        else:
            text += token if glue else " " + token
            glue = token in {"(", "$", "#"}
    return text[:1].upper() + text[1:]


class Vocabulary:
    """The words that a model knows, each with its number; all others are `<unk>`."""

    def __init__(self, words: Iterable[str]):
        self.words = [*SPECIAL_WORDS, *words]
        self.numbers = {word: number for number, word in enumerate(self.words)}
        if len(self.numbers) != len(self.words):
            raise ValueError("A vocabulary was given the same word twice.")

    @classmethod
    def from_sentences(cls, sentences: Iterable[Sequence[str]], min_count: int = 2):
        """The words that occur at least `min_count` times, the most frequent first."""
        counts = Counter(token for tokens in sentences for token in tokens)
        frequent = [word for word, count in counts.items() if count >= min_count]
        return cls(sorted(frequent, key=lambda word: (-counts[word], word)))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, tokens: Iterable[str]) -> list[int]:
        return [self.numbers.get(token, UNKNOWN) for token in tokens]

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """The words up to `</s>`, without the start mark and the padding."""
        words = []
        for number in numbers:
            if number == END:
                break
            if number not in (PAD, START):
                words.append(self.words[number])
        return words
