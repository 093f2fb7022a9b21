"""beam_search: the best of `beam` prefixes at each step, against an exhaustive search.

`step` stands for a model: a table of log-probabilities, one row for each prefix. With a beam
that holds everything, the search must find what trying every sequence finds. With a narrow one
there are several right ways to treat sequences that have ended; each is accepted.
"""

from functools import cache

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong
from course_utils.checks.layer_checks import fits_everywhere
from course_utils.checks.next_words import next_words, row_of
from course_utils.checks.wire import Ask

START, END = 0, 1
ROWS = 211
# label: V, beam, max_length, length_penalty (None: not given)
WIDE = {"wide": (4, 400, 4, None), "wide, by length": (4, 400, 4, 1.0)}
NARROW = {
    "narrow 1": (6, 2, 5, None),
    "narrow 2": (7, 3, 6, 0.0),
    "narrow 3": (5, 2, 6, None),
    "narrow, by length": (6, 3, 6, 1.0),
    "narrow, by a root of length": (6, 3, 5, 0.5),
    "an early end": (6, 2, 5, None),
}
ONE = {"beam of one": (6, 1, 6, None)}
LIMITS = {"one word at most": (5, 2, 1, 1.0), "never ends": (5, 2, 4, 1.0)}
SIZES = {**WIDE, **NARROW, **ONE, **LIMITS}


def asks(rng: np.random.Generator) -> list[Ask]:
    return [_ask(label, rng) for label in SIZES]


def _ask(label: str, rng: np.random.Generator) -> Ask:
    V, beam, max_length, penalty = SIZES[label]
    while True:
        scores = 1.3 * rng.standard_normal((ROWS, V))
        scores[:, START] -= 5
        scores[:, END] += -40 if label == "never ends" else 0.3
        table = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        if label == "an early end":
            table = _with_an_early_end(table, rng)
        if label not in WIDE or _tells_apart(table, max_length, penalty or 0.0):
            break
    return Ask(
        label,
        "decode",
        {
            "target": "beam_search",
            "args": [START, END, beam, max_length],
            "kwargs": {} if penalty is None else {"length_penalty": penalty},
            "table": table,
            "max_calls": 3000,
        },
    )


def _with_an_early_end(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The best sequence continues along the second-best prefix where another has just ended."""
    words: int = table.shape[1]
    first, second, third = (int(word) for word in rng.permutation(np.arange(2, words))[:3])
    likely = {  # after these prefixes, these words: the rest share what is left
        (START,): {first: 0.9, END: 0.03},
        (START, first): {second: 0.5, third: 0.45},
        (START, first, second): {first: 0.9},
        (START, first, second, first): {END: 0.5},
        (START, first, third): {END: 0.95},
    }
    table = table.copy()
    for prefix, shares in reversed(likely.items()):
        row = rng.uniform(0.8, 1.2, words)  # no two alike
        row[list(shares)] = 0
        row *= (1 - sum(shares.values())) / row.sum()
        row[list(shares)] = list(shares.values())
        table[row_of(prefix, len(table))] = np.log(row)
    return table


# --- trying everything: slow, and not a beam search ------------------------------------------


def log_probability(tokens, table: np.ndarray) -> float:
    """The sum of the log-probabilities of the words that follow the start."""
    prefix, total = [START], 0.0
    for token in tokens:
        total += next_words(prefix, table)[token]
        prefix.append(token)
    return float(total)


def every_sequence(words: int, max_length: int, prefix=(START,)):
    """Every sequence that ends with `end`, and every one that is cut off."""
    for word in range(words):
        longer = (*prefix, word)
        if word == END or len(longer) > max_length:
            yield longer[1:]
        else:
            yield from every_sequence(words, max_length, longer)


@cache
def places_in_table(rows: int, words: int, max_length: int) -> tuple:
    """Every sequence, its length, and where its words are in a table [rows, words].

    These are the same for all tables, and drawing one that tells answers apart tries hundreds.
    Places after the end of a sequence point past the table, where there is a zero.
    """
    sequences = list(every_sequence(words, max_length))
    places = np.full((len(sequences), max_length), rows * words)
    for index, tokens in enumerate(sequences):
        for step, token in enumerate(tokens):
            places[index, step] = row_of((START, *tokens[:step]), rows) * words + token
    return sequences, np.array([len(tokens) for tokens in sequences]), places


def best_of_all(table: np.ndarray, max_length: int, penalty: float) -> tuple[list[int], float]:
    """The best of all sequences, and its score."""
    sequences, lengths, places = places_in_table(*table.shape, max_length)
    scores = np.append(table, 0.0)[places].sum(axis=1) / lengths**penalty
    best = int(scores.argmax())
    return list(sequences[best]), float(scores[best])


def _tells_apart(table: np.ndarray, max_length: int, penalty: float) -> bool:
    """Whether the best sequence is one that a short-sighted search misses.

    It must not begin with the best word (greedy), nor follow the best word from then on (each
    prefix extended by its own best word), nor end at once (stopping at the first end); and
    where the length counts, it must not be the best one by the plain sum.
    """
    best, _ = best_of_all(table, max_length, penalty)
    ranks = [
        int(next_words([START, *best[:place]], table).argmax()) == token
        for place, token in enumerate(best)
    ]
    plain = best_of_all(table, max_length, 0.0)[0] if penalty else None
    return len(best) > 1 and not ranks[0] and not all(ranks[1:]) and best != plain


# --- reading the replies ---------------------------------------------------------------------


def tokens_of(e: Evidence, label: str) -> list[int]:
    """What was returned as `tokens`, when it is a list of words that the table knows."""
    V, _, max_length, _ = SIZES[label]
    reply = e.reply(label)
    if reply.notes.get("out_count") != "2":
        raise Wrong(
            "It should return two things: the tokens and their score.",
            "The last line: return tokens, score",
        )
    if "out0" not in reply.arrays:
        raise Wrong(f"The tokens should be a list of numbers, but are {reply.notes.get('out0')}.")
    array = reply.arrays["out0"]
    if array.size == 0:
        raise Wrong(
            f"No tokens are returned with max_length = {max_length}.",
            "The best sequence may have no end mark: at max_length, prefixes that have not ended "
            "count too.",
        )
    if array.ndim != 1:
        raise Wrong(f"The tokens should be one list, but have the shape {list(array.shape)}.")
    if not np.isfinite(array).all() or (array != np.round(array)).any():
        raise Wrong("The tokens should be whole numbers.")
    tokens = [int(t) for t in array]
    if min(tokens) < 0 or max(tokens) >= V:
        raise Wrong(f"The tokens should be between 0 and {V - 1}, but one of them is not.")
    return tokens


def score_of(e: Evidence, label: str) -> float:
    array = e.reply(label).arrays.get("out1")
    if array is None or array.size != 1 or not np.isfinite(array).all():
        raise Wrong(
            "The score should be one number.", "Return float(score), or a tensor with one number."
        )
    return float(array.ravel()[0])


def penalty_of(label: str) -> float:
    return SIZES[label][3] or 0.0


def table_of(e: Evidence, label: str) -> np.ndarray:
    return e.options(label)["table"]


# --- properties ------------------------------------------------------------------------------


def sequences_are_whole(e: Evidence) -> None:
    for label, (_, _, max_length, _) in SIZES.items():
        tokens = tokens_of(e, label)
        if tokens[0] == START and len(tokens) > 1 and label != "never ends":
            first = next_words([START], table_of(e, label))
            if first[START] < first.max() - 4:
                raise Wrong(
                    "The tokens begin with the start mark.",
                    "Return what follows `start`, beginning with the first word that was chosen.",
                )
        if END in tokens[:-1]:
            raise Wrong(
                "A sequence goes on after the end mark.",
                "A prefix that ends with `end` is finished: set it aside and do not extend it.",
            )
        if len(tokens) > max_length:
            raise Wrong(f"A sequence has {len(tokens)} tokens, but max_length is {max_length}.")
        if len(tokens) < max_length and tokens[-1] != END:
            kept = any(tokens_of(e, other)[-1] == END for other in SIZES)
            raise Wrong(
                f"A sequence stops after {len(tokens)} tokens without the end mark, but max_length is "
                f"{max_length}.",
                "max_length counts the tokens after `start`. How many steps does your loop take, and "
                "does anything stop it early?"
                if kept
                else "Keep `end` as the last token of a finished sequence.",
            )


def scores_are_those_of_the_tokens(e: Evidence) -> None:
    for label in SIZES:
        tokens, got = tokens_of(e, label), score_of(e, label)
        expected = log_probability(tokens, table_of(e, label)) / len(tokens) ** penalty_of(label)
        if abs(expected - got) > 1e-5 * max(1, abs(expected)):
            raise Wrong(
                f"The tokens {tokens} have the score {expected:.4f}, but you return {got:.4f}.",
                "It is the sum of the log-probabilities of all tokens (including the end mark), "
                "divided by their number to the power of length_penalty.",
            )


def wide_beam_finds_the_best(e: Evidence) -> None:
    for label, (_, _, max_length, _) in WIDE.items():
        best, score = best_of_all(table_of(e, label), max_length, penalty_of(label))
        tokens = tokens_of(e, label)
        found = log_probability(tokens, table_of(e, label)) / len(tokens) ** penalty_of(label)
        if tokens != best and found < score - 1e-9:
            raise Wrong(
                f"With a beam that holds every prefix, the best sequence is {best} with "
                f"{score:.4f}; you found {tokens} with {found:.4f}.",
                "Extend every prefix by every word, and look at all finished sequences at the end."
                if penalty_of(label) == 0
                else "Compare finished sequences by their score, the sum over length^length_penalty.",
            )


def narrow_beam_matches(e: Evidence) -> None:
    for label in (*ONE, *NARROW, *LIMITS):
        tokens, accepted = tokens_of(e, label), accepted_of(e, label)
        if tokens not in accepted:
            _, beam, max_length, penalty = SIZES[label]
            raise Wrong(
                f"With beam = {beam}, max_length = {max_length}, length_penalty = {penalty or 0}: "
                f"a beam search finds {accepted[0]}, you found {tokens}.",
                "At each step, sort all continuations of all unfinished prefixes by their sum of "
                "log-probabilities, and keep the `beam` best.",
            )


def prefixes_are_asked_together(e: Evidence) -> None:
    for label, (_, beam, max_length, _) in {**NARROW, **ONE}.items():
        calls = e.reply(label).arrays["calls"]
        if len(calls) == 0:
            raise Wrong("step was never called.")
        if calls[:, 0].max() > beam:
            raise Wrong(
                f"step was asked about {calls[:, 0].max()} prefixes at once, but the beam is {beam}."
            )
        if len(calls) > max_length or len(set(calls[:, 1].tolist())) < len(calls):
            raise Wrong(
                f"step was called {len(calls)} times for a search of at most {max_length} steps.",
                "Stack the prefixes of the beam into one tensor [N, t], and call step once per step.",
            )


def _unpad(tokens: np.ndarray) -> list[int]:
    return [int(t) for t in tokens if t >= 0]


# --- misconceptions --------------------------------------------------------------------------


def plain(total: float, length: int, penalty: float) -> float:
    return total


def by_length(total: float, length: int, penalty: float) -> float:
    return total / length**penalty


def start_counted(total: float, length: int, penalty: float) -> float:
    return total / (length + 1) ** penalty


def score_is(e: Evidence, label: str, formula) -> bool:
    tokens = tokens_of(e, label)
    expected = formula(log_probability(tokens, table_of(e, label)), len(tokens), penalty_of(label))
    return abs(expected - score_of(e, label)) <= 1e-5 * max(1, abs(expected))


def like(variant: str, formula=None):
    """The tokens are those of a known mistake everywhere, and somewhere not right; so is the score."""

    def matches(e: Evidence) -> bool:
        differs = False
        for label in SIZES:
            tokens, expected = tokens_of(e, label), e.expected(label)
            if tokens != _unpad(expected[variant]):
                return False
            if formula is not None and not score_is(e, label, formula):
                return False
            differs |= tokens not in accepted_of(e, label)
        return differs

    return matches


def accepted_of(e: Evidence, label: str) -> list[list[int]]:
    expected = e.expected(label)
    return [_unpad(expected[name]) for name in expected if name.startswith("right")]


def score_like(formula, variant: str):
    """Right tokens everywhere, also where `variant` gives others, and a score of another formula."""

    def matches(e: Evidence) -> bool:
        if not all(tokens_of(e, label) in accepted_of(e, label) for label in SIZES):
            return False
        if not all(score_is(e, label, formula) for label in SIZES):
            return False
        told_apart = any(
            _unpad(e.expected(label)[variant]) not in accepted_of(e, label) for label in SIZES
        )
        return told_apart and not all(score_is(e, label, by_length) for label in SIZES)

    return matches


def _start_counted(e: Evidence) -> bool:
    """The scores count the start, and the choice is that of such scores, or the right one."""
    found = {label: tokens_of(e, label) for label in SIZES}
    chosen_so = all(t == _unpad(e.expected(x)["start-counted"]) for x, t in found.items())
    right = all(tokens in accepted_of(e, label) for label, tokens in found.items())
    counted = all(score_is(e, label, start_counted) for label in SIZES)
    return (chosen_so or right) and counted and not all(score_is(e, x, by_length) for x in SIZES)


def _start_included(e: Evidence) -> bool:
    found = {label: tokens_of(e, label) for label in NARROW}
    return all(
        tokens[0] == START and tokens[1:] in accepted_of(e, label)
        for label, tokens in found.items()
    )


def _end_left_out(e: Evidence) -> bool:
    found = {label: tokens_of(e, label) for label in WIDE | NARROW}
    cut_short = any(
        len(tokens) < SIZES[label][2] and END not in tokens for label, tokens in found.items()
    )
    return cut_short and all(END not in tokens or tokens == [END] for tokens in found.values())


def _unfinished_forgotten(e: Evidence) -> bool:
    """Where the best sequence has no end mark: an error, nothing, or one that has; else right."""
    for label in SIZES:
        ends = all(tokens[-1] == END for tokens in accepted_of(e, label))
        nothing = e.failed(label) or e.reply(label).arrays["out0"].size == 0
        if (nothing and ends) or (label == "never ends" and not nothing):
            return False
        if not nothing:
            tokens = tokens_of(e, label)
            if tokens[-1] != END or (ends and tokens not in accepted_of(e, label)):
                return False
    return True


def _one_by_one(e: Evidence) -> bool:
    """One prefix in each call, and several calls at some lengths: a beam of one needs no more."""
    calls = [e.reply(label).arrays["calls"] for label in NARROW]
    several = any(len(set(c[:, 1].tolist())) < len(c) for c in calls)
    return several and all((c[:, 0] == 1).all() for c in calls)


def _goes_on(e: Evidence) -> bool:
    return any(END in tokens_of(e, label)[:-1] for label in SIZES)


WHOLE = "sequences end with the end mark or at max_length"
SCORES = "the score is that of the tokens"
BEST = "a beam that holds everything finds what trying everything finds"

exercise = Check(
    id="beam-search",
    asks=asks,
    properties=(
        # A lone end mark is whole and has its score: points begin with what a search finds.
        Property(WHOLE, 0, sequences_are_whole),
        Property(SCORES, 0.5, scores_are_those_of_the_tokens, needs=(BEST,)),
        Property(BEST, 1.25, wide_beam_finds_the_best, needs=(WHOLE,)),
        Property(
            "a narrow beam keeps the best prefixes", 1.25, narrow_beam_matches, needs=(WHOLE,)
        ),
        Property(
            "step is called once per step, with the whole beam",
            0,  # counted beside the student's code, where it could be made up
            prefixes_are_asked_together,
            needs=(BEST,),
        ),
    ),
    misconceptions=(
        Misconception(
            "start-included",
            "The start mark is part of what you return.",
            "Leave it out of the tokens that you return.",
            _start_included,
        ),
        Misconception(
            "end-left-out",
            "The end mark is missing from the tokens that you return, and from their length.",
            "Keep it: it was chosen like any other word, and its log-probability counts.",
            _end_left_out,
        ),
        Misconception(
            "unfinished-forgotten",
            "Only sequences that have ended are considered. If none has ended by max_length, nothing "
            "is left.",
            "After the last step, prefixes that have not ended count too.",
            _unfinished_forgotten,
        ),
        Misconception(
            "goes-on-after-the-end",
            "Prefixes that have ended are extended.",
            "Set a prefix that ends with `end` aside, with its score.",
            _goes_on,
        ),
        Misconception(
            "greedy",
            "This is a greedy search: only the best word is kept at each step.",
            "Keep the `beam` best prefixes, not just one.",
        ),
        Misconception(
            "one-child-each",
            "Each prefix is extended by its own best word only, so the beam never branches.",
            "Sort the continuations of all prefixes together: two of the best may come from one prefix.",
        ),
        Misconception(
            "last-word-only",
            "Prefixes are compared by their last word alone.",
            "Add the new log-probability to the sum that the prefix already has.",
            like("last-word-only"),
        ),
        Misconception(
            "probabilities-added",
            "Probabilities are added up, but it should be log-probabilities.",
            "step returns log-probabilities; add them as they are.",
            like("probabilities-added"),
        ),
        Misconception(
            "stops-at-the-first-end",
            "The search stops as soon as one sequence has ended.",
            "Set it aside and continue: another one may end with a better score.",
        ),
        Misconception(
            "shrinking-beam",
            "The beam shrinks by one place whenever a sequence ends.",
            "At every step, keep the `beam` best continuations of the unfinished prefixes.",
        ),
        Misconception(
            "worst-kept",
            "The worst continuations are kept, not the best.",
            "Log-probabilities are negative, so the largest is the one closest to zero.",
            like("worst-kept"),
        ),
        Misconception(
            "no-length-penalty",
            "length_penalty has no effect.",
            "Divide the sum by the length to the power of length_penalty, also when you choose the best.",
            like("no-length-penalty", plain),
        ),
        Misconception(
            "start-counted",
            "The length that divides the sum counts the start mark.",
            "Count only the tokens that you return.",
            _start_counted,
        ),
        Misconception(
            "score-not-normalised",
            "The best sequence is chosen by its normalised score, but the plain sum is returned.",
            "Return the normalised score as well.",
            score_like(plain, "no-length-penalty"),
        ),
        Misconception(
            "one-prefix-at-a-time",
            "step is called for one prefix at a time.",
            "Stack the prefixes: step takes [N, t] and returns [N, V].",
            _one_by_one,
            beside=True,
        ),
    ),
    choices=(
        ("last-word-only", "probabilities-added", "worst-kept"),
        ("greedy", "one-child-each", "stops-at-the-first-end", "shrinking-beam"),
        ("no-length-penalty", "start-counted", "score-not-normalised"),
        ("start-included", "end-left-out"),
    ),
    fits=fits_everywhere(),
    # what becomes of a sequence that has ended (see the oracle)
    ways=("aside", "stay", "all"),
)
