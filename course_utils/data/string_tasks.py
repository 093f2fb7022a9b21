"""Toy tasks on text, made on the fly: change the case, reverse, remove the spaces."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.data.batches import Batch, pad
from course_utils.data.tokens import END, SPECIAL_WORDS, START, UNKNOWN

BLANK = "<blank>"
UPPER, LOWER = "<U>", "<L>"
PROMPTS = (UPPER, LOWER)
PLACES = ("start", "end", "both", "each step", "decoder")


@dataclass(frozen=True)
class Task:
    """A task on text: what goes in, what comes out, and which tokens there are.

    name      the name used in figures
    alphabet  the characters that a text may contain
    prompts   the tokens that a text may start with: they name the task; empty if the task needs none
    solve     solve(text, prompt) -> the tokens of the right answer
    place     where the prompt goes, see PLACES
    space     the share of drawn characters that are spaces
    """

    name: str
    alphabet: str
    solve: Callable[[str, str], Sequence[str]]
    prompts: tuple[str, ...] = ()
    place: str = "start"
    space: float = 0.15

    @property
    def tokens(self) -> list[str]:
        """All tokens; a token's number is its place in this list."""
        return [*SPECIAL_WORDS[:UNKNOWN], BLANK, *PROMPTS, *self.alphabet]

    def read(self, line: str) -> tuple[str, str]:
        """Split a line such as `<U> I am` into the text and its prompt."""
        if not self.prompts:
            return self._checked(line), ""
        prompt, _, text = line.partition(" ")
        if not (prompt.startswith("<") and prompt.endswith(">")):
            raise ValueError(
                f"{line!r} has no prompt. Start it with one of {', '.join(self.prompts)}, "
                "then a space."
            )
        if prompt not in self.prompts:
            raise ValueError(
                f"{prompt!r} is not a prompt. The prompts are {', '.join(self.prompts)}."
            )
        return self._checked(text), prompt

    def source_steps(self, text: str, prompt: str) -> list[tuple[str, ...]]:
        """The source, step by step: the tokens that the encoder reads at each step."""
        steps: list[tuple[str, ...]] = [(character,) for character in text]
        if not prompt or self.place == "decoder":
            return steps
        if self.place == "each step":
            return [(*step, prompt) for step in steps]
        if self.place in ("start", "both"):
            steps.insert(0, (prompt,))
        if self.place in ("end", "both"):
            steps.append((prompt,))
        return steps

    def first_number(self, prompt: str) -> int:
        """The number of the token that starts the decoder."""
        return self.tokens.index(prompt) if prompt and self.place == "decoder" else START

    def batch(self, lines: Sequence[str]) -> Batch:
        """The numbers of lines whose texts all have the same length."""
        if not lines:
            raise ValueError("A batch needs at least one line.")
        pairs = [self.read(line) for line in lines]
        lengths = {len(text) for text, _ in pairs}
        if len(lengths) > 1:
            raise ValueError(
                f"All texts of a batch must have the same length, but these have {sorted(lengths)}."
            )
        number = {token: place for place, token in enumerate(self.tokens)}
        source = [
            [[number[token] for token in step] for step in self.source_steps(text, prompt)]
            for text, prompt in pairs
        ]
        source_tensor = torch.tensor(source)
        if source_tensor.shape[2] == 1:
            source_tensor = source_tensor.squeeze(2)
        answers = [[number[token] for token in self.solve(text, prompt)] for text, prompt in pairs]
        first = [self.first_number(prompt) for _, prompt in pairs]
        return Batch(
            source_tensor,
            given=pad([start, *answer] for start, answer in zip(first, answers, strict=True)),
            wanted=pad([*answer, END] for answer in answers),
        )

    def draw_lines(self, count: int, length: int, *, seed: int) -> list[str]:
        """Random lines of one length: letters and a few spaces, after a random prompt."""
        if length < 1 or count < 1:
            raise ValueError(
                f"There must be at least one line and one character, but {count} lines of length "
                f"{length} were asked for."
            )
        rng = random.Random(f"{self.name} {length} {seed}")
        letters = self.alphabet.replace(" ", "")
        spaces = self.space if " " in self.alphabet else 0.0
        odds = [(1 - spaces) / len(letters)] * len(letters) + [spaces]
        drawn = "".join(rng.choices(letters + " ", odds, k=count * length))
        texts = [drawn[start : start + length] for start in range(0, len(drawn), length)]
        return [f"{rng.choice(self.prompts)} {text}" if self.prompts else text for text in texts]

    def draw(self, count: int, length: int, *, seed: int) -> Batch:
        """A batch of random lines of one length; the same seed gives the same lines."""
        return self.batch(self.draw_lines(count, length, seed=seed))

    def write(self, numbers: Tensor) -> str:
        """Numbers as text, up to the end; blanks are shown as `_`."""
        text = []
        for number in numbers.tolist():
            if number == END:
                break
            token = self.tokens[number]
            text.append("_" if token == BLANK else token)
        return "".join(text)

    def _checked(self, text: str) -> str:
        if not text:
            raise ValueError(
                f"The text is empty: the task {self.name!r} needs at least one character."
            )
        strange = sorted(set(text) - set(self.alphabet))
        if strange:
            raise ValueError(
                f"{text!r} contains characters that the task {self.name!r} does not know: "
                f"{', '.join(map(repr, strange))}. It knows {self.alphabet!r}."
            )
        return text


def change_case(*, place: str = "start") -> Task:
    """`<U> I am` to `I AM`, `<L> I am` to `i am`; `place` says where the prompt goes."""
    if place not in PLACES:
        raise ValueError(f"place is {place!r}, but it must be one of {', '.join(PLACES)}.")

    def solve(text: str, prompt: str) -> str:
        return text.upper() if prompt == UPPER else text.lower()

    return Task("change case", string.ascii_letters + " ", solve, PROMPTS, place)


def reverse(alphabet: str = "abcd") -> Task:
    """`abca` to `acba`."""
    return Task("reverse", alphabet, lambda text, prompt: text[::-1], space=0.0)


def remove_spaces(*, blank: bool) -> Task:
    """`I am` to `Iam`; with `blank` the answer keeps a blank where a space was."""

    def solve(text: str, prompt: str) -> list[str]:
        if blank:
            return [BLANK if character == " " else character for character in text]
        return [character for character in text if character != " "]

    return Task("remove spaces", string.ascii_lowercase + " ", solve, space=0.3)


def epoch_of(
    task: Task, *, batches: int, size: int, lengths: Sequence[int], seed: int = 0
) -> Callable[[int], list[Batch]]:
    """For `fit`: new random batches in each epoch, each with one of the `lengths`."""

    def batches_of(epoch: int) -> list[Batch]:
        first = (seed * 1_000 + epoch + 1) * 100_000
        rng = random.Random(first)
        return [
            task.draw(size, rng.choice(list(lengths)), seed=first + index)
            for index in range(batches)
        ]

    return batches_of
