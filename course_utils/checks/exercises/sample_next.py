"""sample_next: draw a token from softmax(logits / temperature), among the top_k best.

The tokens are random, so the verdict counts them. Chernoff's bound says how far a count may
stray: of n draws, the share s of a token with probability p has n KL(s, p) >= x with a chance of
at most exp(-x) on either side. With LIMIT for x, seven tokens, seven questions and three seeds a
right answer fails by chance less often than once in 10^9 checks.
"""

import itertools
import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from course_utils.checks.judge import (
    RIGHT,
    Check,
    Evidence,
    Misconception,
    Mistakes,
    Property,
    Wrong,
    differ,
)
from course_utils.checks.wire import Ask

LIMIT = 28.0
LOGITS = np.array([2.4, 1.2, 0.5, -0.4, -1.0, -1.6, -2.2])
V = len(LOGITS)
QUESTIONS: dict[str, tuple[dict[str, float], int]] = {  # label: (named arguments, number of draws)
    "plain": ({}, 400),
    "cold": ({"temperature": 0.4}, 800),
    "hot": ({"temperature": 2.5}, 800),
    "top-k": ({"top_k": 3}, 400),
    "both": ({"temperature": 0.5, "top_k": 4}, 150),
    "one": ({"top_k": 1}, 8),
    "all": ({"top_k": V + 3}, 100),
    "no generator": ({}, 100),
}


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (named, count) in QUESTIONS.items():
        # Shifted down, so that a logit of 0 for what is left out would stand out.
        logits = rng.permutation(LOGITS + rng.uniform(-0.1, 0.1, V)) - rng.uniform(1, 2)
        options = {
            "target": "sample_next",
            "args": [logits],
            "kwargs": named,
            "seed": None if label == "no generator" else int(rng.integers(2**31)),
            "count": count,
            "again": 60 if label == "plain" else 0,
        }
        questions.append(Ask(label, "draws", options))
    return questions


def counts(e: Evidence, label: str) -> np.ndarray:
    """How often each token came, as a share of all draws."""
    tokens = e.reply(label).arrays.get("tokens")
    if tokens is None or tokens.shape != (e.options(label)["count"],) or tokens.dtype != np.int64:
        raise Wrong(f"There should be {e.options(label)['count']} tokens, one per call.")
    strange = tokens[(tokens < 0) | (tokens >= V)]
    if strange.size:
        kind = e.reply(label).notes.get("kind", "")
        raise Wrong(
            f"It should return a token from 0 to {V - 1}, but it returns "
            + (f"{strange[0]}." if kind == "int" else f"{kind}."),
            "Return the number of the token as an int.",
        )
    return np.bincount(tokens, minlength=V)


def divergence(share: float, p: float) -> float:
    """KL between two coins, one that falls heads with `share`, one with `p`."""
    total = 0.0
    for one, other in ((share, p), (1 - share, 1 - p)):
        if one > 0:
            total += math.inf if other <= 0 else one * math.log(one / other)
    return total


def consistent(found: np.ndarray, probabilities: np.ndarray, limit: float = LIMIT) -> bool:
    """Whether the counts can be draws with these probabilities."""
    n = found.sum()
    return all(n * divergence(c / n, p) < limit for c, p in zip(found, probabilities))


def follows(e: Evidence, label: str, message: str, hint: str) -> None:
    found, expected = counts(e, label), e.expected(label)["right"]
    if not consistent(found, expected):
        raise Wrong(message, hint, expected[None], found[None] / found.sum(), ("share", "token"))


def plain_follows(e: Evidence) -> None:
    follows(
        e,
        "plain",
        "The tokens do not come up as often as softmax(logits) says.",
        "torch.multinomial draws with given probabilities; it accepts a generator.",
    )


def temperature_follows(e: Evidence) -> None:
    for label in ("cold", "hot"):
        temperature = QUESTIONS[label][0]["temperature"]
        follows(
            e,
            label,
            f"With temperature={temperature} the tokens do not come up as often as they should.",
            "Divide the logits by the temperature before the softmax.",
        )


def top_k_follows(e: Evidence) -> None:
    for label in ("top-k", "both", "one", "all"):
        called = ", ".join(f"{k}={v}" for k, v in QUESTIONS[label][0].items())
        follows(
            e,
            label,
            f"With {called} and {V} tokens, tokens do not come up as often as they should.",
            "Only the top_k largest logits remain; the others get probability 0. If there are fewer "
            "tokens than top_k, all remain.",
        )


def generator_decides(e: Evidence) -> None:
    arrays, count = e.reply("plain").arrays, e.options("plain")["again"]
    if not np.array_equal(arrays["tokens"][:count], arrays["again"]):
        raise Wrong(
            "Two generators with the same seed give different tokens.",
            "Pass `generator` on to the function that draws.",
        )


def manners(e: Evidence) -> None:
    kind = e.reply("plain").notes.get("kind", "")
    if kind != "int":
        raise Wrong(f"It should return an int, but it returns {kind}.", "A tensor has .item().")
    for label in ("top-k", "both"):  # with a temperature, too: dividing by 1 changes nothing
        given = e.args(label)[0]
        if differ(given, e.array(label, "after0", given.shape), 1e-9):
            raise Wrong(
                "Your function changes the logits that it is given.",
                "Work on a copy: dividing with / makes a new tensor, dividing with /= does not.",
            )
    follows(e, "no generator", "Without a generator, tokens do not come up as they should.", "")


# ---- misconceptions -----------------------------------------------------------

# A name asks for more than a refusal does: the counts must be near what the mistake gives, and
# what explains them best must be far ahead of everything else, in logarithms of probabilities.
NEAR, AHEAD = 14.0, 12.0
TEMPERATURE = ("temperature-ignored", "temperature-multiplied")
SHARES = (
    "softmax-twice",
    "top-k-ranks",
    "top-k-smallest",
    "top-k-uniform",
    "top-k-masked-with-zero",
    "top-k-ignored",
    "top-k-one-fewer",
    "top-k-one-more",
)
BEYOND_ALL = "top-k-larger-than-vocabulary"


def fits(e: Evidence, mistakes: Mistakes) -> bool:
    """Whether the counts of all questions are those of these mistakes, and of no others."""
    found = fit_of_everything(e)
    return found[mistakes] > -math.inf and found[mistakes] >= max(found.values()) - AHEAD


@lru_cache(maxsize=8)
def fit_of_everything(e: Evidence) -> dict[Mistakes, float]:
    """How well each combination of mistakes explains the counts; 0 is as well as can be."""
    combinations = [RIGHT, *itertools.chain(*e.exercise.combinations)]
    total = np.zeros(len(combinations))
    for label in QUESTIONS:
        expected = e.expected(label)
        total += [fit(e, label, row) for row in (expected["right"], *expected["mistaken"])]
    return dict(zip(combinations, total.tolist()))


def fit(e: Evidence, label: str, probabilities: np.ndarray) -> float:
    if np.isnan(probabilities).any():  # the mistakes can be made in several ways
        return 0.0
    raises = bool((probabilities < 0).any())
    if raises or e.failed(label):
        return 0.0 if raises and e.failed(label) else -math.inf
    found = counts(e, label)
    if not consistent(found, probabilities, NEAR):
        return -math.inf
    return surprise(found, found / found.sum()) - surprise(found, probabilities)


def everywhere(name: str) -> Callable[[Evidence], bool]:
    """All counts are near what this mistake gives, and those of one question are wrong."""

    def matches(e: Evidence) -> bool:
        found = [(counts(e, label), e.expected(label)) for label in QUESTIONS]
        return all(consistent(n, expected[name], NEAR) for n, expected in found) and not all(
            consistent(n, expected["right"]) for n, expected in found
        )

    return matches


def surprise(found: np.ndarray, probabilities: np.ndarray) -> float:
    """Minus the logarithm of how probable the draws are; infinite if one is impossible."""
    drawn = found > 0
    with np.errstate(divide="ignore"):
        return float(-(found[drawn] * np.log(probabilities[drawn])).sum())


def input_changed(e: Evidence) -> bool:
    return any(
        differ(e.args(label)[0], np.nan_to_num(e.reply(label).arrays["after0"], neginf=-99), 1e-9)
        for label in ("cold", "top-k")
    )


def returns_a_tensor(e: Evidence) -> bool:
    counts(e, "plain")  # raises where it holds no token
    return e.reply("plain").notes.get("kind", "").startswith("a tensor")


def generator_ignored(e: Evidence) -> bool:
    plain_follows(e)
    arrays = e.reply("plain").arrays
    return not np.array_equal(arrays["tokens"][: len(arrays["again"])], arrays["again"])


PLAIN = "the tokens follow softmax(logits)"

exercise = Check(
    id="sample-next",
    asks=asks,
    properties=(
        Property(PLAIN, 0.4, plain_follows),
        Property("temperature sharpens and flattens", 0.5, temperature_follows),
        Property("top_k keeps the k best", 0.5, top_k_follows),
        Property("the generator determines the draw", 0.25, generator_decides, needs=(PLAIN,)),
        Property(
            "it returns an int, leaves the logits alone, and works without a generator",
            0.35,
            manners,
            needs=(PLAIN,),
        ),
    ),
    misconceptions=(
        Misconception(
            "changes-its-input",
            "Your function changes the logits that it is given.",
            "Work on a copy: dividing with / makes a new tensor, dividing with /= does not.",
            input_changed,
            beside=True,
        ),
        Misconception(
            "always-the-best",
            "It always returns the most likely token: nothing is drawn.",
            "Taking the largest is greedy decoding. Draw with torch.multinomial.",
            everywhere("always-the-best"),
        ),
        Misconception(
            "all-alike",
            "All tokens come up equally often: the logits have no effect.",
            "Draw with the probabilities softmax(logits / temperature).",
            everywhere("all-alike"),
        ),
        Misconception(
            "softmax-twice",
            "The softmax is applied twice, which makes the probabilities almost equal.",
            "torch.multinomial expects probabilities; Categorical(logits=...) expects logits.",
        ),
        Misconception(
            "temperature-ignored",
            "The temperature has no effect.",
            "Divide the logits before the softmax. Dividing probabilities by a constant does not "
            "change the draw.",
        ),
        Misconception(
            "temperature-multiplied",
            "The logits are multiplied by the temperature; they should be divided by it.",
            "A high temperature should make the probabilities more equal.",
        ),
        Misconception(
            "top-k-ranks",
            "It returns the rank among the k best, not the number of the token.",
            "torch.topk gives values and indices; the rank that you draw picks one of the indices.",
        ),
        Misconception(
            "top-k-smallest",
            "The k least likely tokens are kept.",
            "torch.topk gives the largest; argsort starts with the smallest.",
        ),
        Misconception(
            "top-k-uniform",
            "The k best tokens are drawn equally often.",
            "Among the tokens kept, the softmax still applies.",
        ),
        Misconception(
            "top-k-masked-with-zero",
            "The other logits are set to 0, but a logit of 0 is not a probability of 0.",
            "Set them to minus infinity, whose exponential is 0.",
        ),
        Misconception(
            "top-k-ignored",
            "top_k has no effect: tokens outside the k best are drawn.",
            "Set the logits of all other tokens to minus infinity.",
        ),
        Misconception(
            "top-k-one-fewer",
            "One token too few is kept.",
            "The k-th best token should be kept too: compare with >=, not with >.",
        ),
        Misconception(
            "top-k-one-more",
            "One token too many is kept.",
            "Sorted from the largest, the k-th best is at index k - 1.",
        ),
        Misconception(
            BEYOND_ALL,
            "A top_k larger than the number of tokens raises an error.",
            "There can't be more candidates than tokens.",
        ),
        Misconception(
            "generator-ignored",
            "The generator has no effect: the same seed gives different tokens.",
            "Pass `generator` on to the function that draws.",
            generator_ignored,
            beside=True,
        ),
        Misconception(
            "returns-a-tensor",
            "It returns a tensor, not an int.",
            "A tensor with one number has .item().",
            returns_a_tensor,
            beside=True,
        ),
    ),
    choices=(TEMPERATURE, SHARES, (BEYOND_ALL,)),
    fits=fits,
)
