"""collapse_blanks: a text without its blanks; repeated letters are kept."""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong
from course_utils.checks.layer_checks import mistake
from course_utils.checks.wire import Ask

LETTERS = "abcdefghij"
BLANKS = "_-.*#"
DROPS = "every blank is dropped, and nothing else"


def asks(rng: np.random.Generator) -> list[Ask]:
    def ask(label: str, text: str, blank: str) -> Ask:
        return Ask(label, "text", {"target": "collapse_blanks", "args": [text, blank]})

    questions = [
        ask("example", "I_am_a___student", "_"),
        ask("doubles", "aa_b__b_cc", "_"),
        ask("ends", "__ab c_d__", "_"),
        ask("regex", "a.b..c", "."),
        ask("other blank", "a_b-c--d_", "-"),
        ask("only blanks", "____", "_"),
        ask("none", "abc", "_"),
        ask("empty", "", "_"),
    ]
    for number in range(3):
        blank = BLANKS[int(rng.integers(len(BLANKS)))]
        letters = [LETTERS[int(i)] for i in rng.integers(len(LETTERS), size=12)]
        letters = [letter for letter in letters for _ in range(int(rng.integers(1, 3)))]
        at = rng.random(len(letters)) < 0.4
        text = "".join(
            x + blank * int(rng.integers(1, 4)) if hit else x for x, hit in zip(letters, at)
        )
        questions.append(ask(f"drawn {number}", blank + text, blank))
    return questions


def read(e: Evidence, label: str) -> list[np.ndarray]:
    reply = e.reply(label)
    if "out0" not in reply.arrays:
        raise Wrong(f"The result should be a text, but it is {reply.notes.get('out0', 'missing')}.")
    return [reply.arrays["out0"]]


def written(codes: np.ndarray) -> str:
    return "".join(chr(int(code)) for code in codes)


def matches(*starts: str):
    def holds(e: Evidence) -> None:
        for label in (label for start in starts for label in e.labels(start)):
            expected, got = written(e.expected(label)["right/0"]), written(read(e, label)[0])
            if expected != got:
                text, blank = e.args(label)
                raise Wrong(
                    f"collapse_blanks({text!r}, {blank!r}) should give {expected!r}, "
                    f"but gives {got!r}.",
                    "Look at each character: keep it unless it is the blank.",
                )

    return holds


def tell(name: str, sentence: str, hint: str) -> Misconception:
    return mistake(name, sentence, hint, ("doubles", "ends", "other blank"), read)


exercise = Check(
    id="collapse-blanks",
    asks=asks,
    properties=(
        Property(
            DROPS, 3, matches("example", "doubles", "ends", "regex", "other", "none", "drawn")
        ),
        Property(
            "empty texts and texts of blanks give the empty text",
            1,
            matches("only", "empty"),
            needs=(DROPS,),
        ),
    ),
    misconceptions=(
        tell(
            "merges-repeats",
            "You merge repeated letters, as CTC does.",
            "Here blanks are dropped, but repeats are kept: 'aa_b' gives 'aab'.",
        ),
        tell(
            "repeats-merged-after",
            "After dropping the blanks, you merge repeated letters.",
            "Repeats are kept: 'b__b' gives 'bb'.",
        ),
        tell(
            "always-underscore",
            "You drop underscores, whatever the blank is.",
            "The blank is the second argument.",
        ),
        tell(
            "runs-to-one-blank",
            "You shorten each run of blanks to one blank instead of dropping it.",
            "No blank should be left at all.",
        ),
        tell(
            "blanks-to-spaces",
            "You put a space where a blank was.",
            "A blank is dropped; nothing takes its place.",
        ),
        tell(
            "ends-only",
            "You drop blanks at the two ends only (strip).",
            "Drop the blanks in the middle as well.",
        ),
        tell(
            "first-blank-only",
            "You drop only the first blank.",
            "Drop all of them.",
        ),
        tell(
            "spaces-too",
            "You drop spaces as well, but a space is not the blank.",
            "Drop only the character given as the second argument.",
        ),
        tell(
            "blanks-kept-letters-dropped",
            "You keep the blanks and drop the rest.",
            "It is the other way round.",
        ),
    ),
)
