"""Predict, then run: a guess that is kept while an experiment runs, and shown next to its result.

Never graded, never sent anywhere: a guess makes readers notice what surprises them in the result.
"""

from dataclasses import dataclass, replace
from html import escape

import ipywidgets as widgets

from course_utils.editor.numbers import BadNumber, exact, parse_number
from course_utils.figures.picture import Picture, chip

from .view import FULL_LABEL, Explorer, menu

NO_GUESS = "no guess yet"
# By key: a cell that is run again shows the guess that was made, and its result.
_kept: dict[str, "Prediction"] = {}


@dataclass(frozen=True)
class Prediction:
    """A question with choices, or one that asks for a number; the guess and the result."""

    question: str
    options: tuple[str, ...] = ()
    unit: str = ""
    low: float = -1e6
    high: float = 1e6
    guess: str = ""
    result: str = ""

    def __post_init__(self) -> None:
        if self.options and self.guess and self.guess not in self.options:
            known = ", ".join(self.options)
            raise ValueError(f"{self.guess!r} is not one of the choices: {known}.")
        if self.guess and not self.options:
            try:
                parse_number(self.guess, self.low, self.high)
            except BadNumber as problem:
                raise ValueError(f"Your guess {problem}") from None

    def shown(self, value: str) -> str:
        return value if self.options else f"{value}{self.unit}"

    @property
    def came_true(self) -> bool:
        return bool(self.guess) and self.guess == self.result

    @property
    def difference(self) -> str:
        """How the guess compares with the result, in a sentence."""
        if not self.guess:
            return "You made no guess this time."
        if self.options:
            return "As you guessed." if self.came_true else "Not what you guessed."
        off = float(self.guess) - float(self.result)
        if abs(off) <= 1e-9 * max(1.0, abs(float(self.result))):
            return "Exactly what you guessed."
        way = "high" if off > 0 else "low"
        return f"Your guess was {self.shown(exact(round(abs(off), 3)))} too {way}."


def prediction_picture(state: Prediction) -> Picture:
    """The question, the guess and, once it is known, the result."""
    rows = [("your guess", state.shown(state.guess) if state.guess else NO_GUESS)]
    said, below = "", ""
    if state.result:
        rows.append(("what came out", state.shown(state.result)))
        said = f" {state.difference}"
        below = f"<p>{chip('good' if state.came_true else 'note', state.difference)}</p>"
    cells = "".join(f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    table = f"<table><caption>Guess first</caption><tbody>{cells}</tbody></table>"
    told = "; ".join(f"{name}: {value}" for name, value in rows)
    return Picture(
        f"<h4>{escape(state.question)}</h4>{table}{below}",
        f"{state.question} {told.capitalize()}.{said}",
    )


class PredictionView(Explorer):
    """A question to guess at; `reveal` shows the result next to the guess."""

    title = "Predict, then run"

    def __init__(self, key: str, state: Prediction):
        self.key = key
        super().__init__(state, {"guess": _control(state)}, prediction_picture)
        row, message, picture = self.widget.children
        self.widget.children = (picture, row, message)  # the question comes first

    def show(self, state: Prediction) -> None:
        _kept[self.key] = state
        # Once the result is known, nothing can be guessed any more.
        self._controls["guess"].disabled = bool(state.result)
        super().show(state)

    def reveal(self, result) -> Picture:
        """The guess next to the result, which is one of the choices or a number."""
        told = str(result) if self.state.options else exact(float(result))
        if self.state.options and told not in self.state.options:
            known = ", ".join(self.state.options)
            raise ValueError(f"The result {told!r} is not one of the choices: {known}.")
        self.show(replace(self.state, result=told))
        return prediction_picture(self.state)


def _control(state: Prediction) -> widgets.Widget:
    if state.options:
        choices = [("choose …", ""), *((option, option) for option in state.options)]
        return menu("Your guess", choices, "min(100%, 420px)")
    label = f"Your guess ({state.unit.strip()})" if state.unit.strip() else "Your guess"
    return widgets.Text(
        description=label,
        placeholder="type a number, then Enter",
        continuous_update=False,
        style=FULL_LABEL,
        layout=widgets.Layout(width="min(100%, 320px)"),
    )


def predict(
    key: str,
    question: str,
    options: list[str] | tuple[str, ...] = (),
    *,
    unit: str = "",
    low: float = -1e6,
    high: float = 1e6,
    guess: str | float | None = None,
) -> PredictionView:
    """Ask for a guess before an experiment; `reveal(result)` shows both side by side.

    key       one per question; a cell that is run again keeps its guess
    options   the choices. Without any, a number from `low` to `high` is asked for, in `unit`
    guess     the guess typed as code, for a page whose controls don't answer

    One cell asks, a later one shows the result:

        guess = predict("length-16", "How many strings of 16 come out right?", unit="%", low=0, high=100)
        guess

        guess.reveal(100 * accuracy)

    Without a guess everything runs all the same, and it never counts towards a grade.
    """
    state = Prediction(question, tuple(options), unit, low, high)
    before = _kept.get(key)
    if before is not None and replace(before, guess="", result="") == state:
        state = before
    if guess is not None and not state.result:
        typed = guess if isinstance(guess, str) else exact(guess)
        state = replace(state, guess=typed)
    return PredictionView(key, state)
