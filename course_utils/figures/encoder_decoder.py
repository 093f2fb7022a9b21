"""Drawings of the encoder-decoder, step by step: one-to-one, with a bottleneck, with attention."""

from __future__ import annotations

from collections.abc import Sequence

from .drawing import Canvas
from .picture import Picture

STEP = 76
SOURCE = ("<U>", "H", "i", " ", "a")
TARGET = ("H", "I", " ", "A")


def one_to_one() -> Picture:
    """An RNN that writes one word for each word it reads, and why it can't translate."""
    french = ("je", "ne", "suis", "pas", "là")
    wanted = ("I", "am", "not", "there", "?")
    c = Canvas(560, 250)
    c.text(40, 40, "wanted", 12, anchor="middle")
    c.text(40, 204, "French", 12, anchor="middle")
    for place, (word, answer) in enumerate(zip(french, wanted, strict=True)):
        x = 130 + place * 90
        c.box(x, 200, 58, 30, word, "word")
        c.arrow((x, 185), (x, 148))
        c.box(x, 125, 58, 44, f"h{'₁₂₃₄₅'[place]}", "feed")
        c.arrow((x, 103), (x, 66))
        c.box(x, 50, 58, 30, answer, "output", built=answer != "?")
        if place:
            c.arrow((x - 61, 125), (x - 30, 125))
    c.text(310, 240, "5 words in, 4 out; “not” is wanted before “pas” has been read", 12)
    return c.picture(
        "A one-to-one RNN reads five French words, je ne suis pas là, and has to write one word at "
        "each step. The English answer, I am not there, has only four words, and 'not' is due at "
        "the third step, before 'pas' is read at the fourth."
    )


def encoder_decoder(attention: bool = False, at: int = 1) -> Picture:
    """The model unrolled on `<U> Hi a`; with `attention`, what happens at target step `at`."""
    bottom = 300 if attention else 200
    c = Canvas(80 + STEP * (len(SOURCE) + len(TARGET)) + 40, bottom + 106)
    first_x, gap = 60, 60
    state_y, token_y = bottom, bottom + 58
    encoder_x = [first_x + STEP * s for s in range(len(SOURCE))]
    decoder_x = [encoder_x[-1] + gap + STEP * (t + 1) - 30 for t in range(len(TARGET))]
    _frame(c, encoder_x, state_y, "encoder")
    _frame(c, decoder_x, state_y, "decoder")
    for s, (x, token) in enumerate(zip(encoder_x, SOURCE, strict=True)):
        _cell(c, x, state_y, token_y, f"h{_small(s + 1)}", _seen(token), "feed")
        if s:
            c.arrow((encoder_x[s - 1] + 22, state_y), (x - 22, state_y))
    for t, x in enumerate(decoder_x):
        read = "<s>" if t == 0 else TARGET[t - 1]
        _cell(c, x, state_y, token_y, f"s{_small(t + 1)}", _seen(read), "norm")
        if t:
            c.arrow((decoder_x[t - 1] + 22, state_y), (x - 22, state_y))
    c.arrow((encoder_x[-1] + 22, state_y), (decoder_x[0] - 22, state_y))
    middle = (encoder_x[-1] + decoder_x[0]) / 2
    if not attention:
        c.text(middle + 14, state_y - 66, "bottleneck", 13, anchor="end", bold=True)
        c.text(middle + 14, state_y - 50, "one vector of size D", 12, anchor="end")
        c.arrow((middle, state_y - 42), (middle, state_y - 6))
        for t, x in enumerate(decoder_x):
            c.arrow((x, state_y - 22), (x, 108))
            c.box(x, 92, 64, 30, "readout", "plain", size=12)
            c.arrow((x, 77), (x, 58))
            c.box(x, 42, 44, 30, _seen(TARGET[t]), "output")
        return c.picture(
            "An encoder RNN reads <U>, H, i, space, a, one token per step, and each state feeds "
            "the next. Its last state, the bottleneck, is the only thing that the decoder RNN gets. "
            "The decoder starts from <s> and reads its own last answer at each step, and a readout "
            "turns each of its states into a character: H, I, space, A."
        )
    _attention_at(c, at, encoder_x, decoder_x, state_y)
    return c.picture(
        f"The same encoder and decoder at target step {at + 1}. The decoder's state is the query. "
        "Its dot product with each encoder state gives a score, and the softmax of the scores "
        "gives the weights, which are largest for the state that has just read i. The weighted "
        "sum of the states is the context. The readout takes context and decoder state together and writes I."
    )


def _attention_at(
    c: Canvas, at: int, encoder_x: Sequence[float], decoder_x: Sequence[float], state_y: float
) -> None:
    weights = [0.02, 0.05, 0.88, 0.03, 0.02]
    bar_floor, sum_y = 190, 92
    for x, weight in zip(encoder_x, weights, strict=True):
        height = 4 + 62 * weight
        c.arrow((x, state_y - 22), (x, bar_floor + 26))
        c.shapes.append(
            f'<rect class="d2" x="{x - 15:g}" y="{bar_floor - height:g}" width="30" '
            f'height="{height:g}"/>'
        )
        c.text(x, bar_floor + 17, f"{weight:.2f}", 12)
        c.arrow((x, bar_floor - height - 3), (encoder_x[2] + (x - encoder_x[2]) * 0.25, sum_y + 16))
    query_x = decoder_x[at]
    c.text(encoder_x[-1] + 26, bar_floor + 2, "weights: softmax", 12, anchor="start")
    c.text(encoder_x[-1] + 26, bar_floor + 17, "of the scores q · h", 12, anchor="start")
    c.box(encoder_x[2], sum_y, 150, 30, "context: weighted sum", "attention", size=12)
    # The query goes to every state's score.
    c.arrow((query_x - 12, state_y - 22), (query_x - 12, 244), (encoder_x[0] + 5, 244))
    for x in encoder_x:
        c.shapes.append(f'<circle class="ink" cx="{x:g}" cy="244" r="4"/>')
    c.text(query_x - 20, 238, "query q = s" + _small(at + 1), 12, anchor="end")
    c.arrow((encoder_x[2] + 75, sum_y), (query_x - 50, sum_y))
    c.box(query_x, sum_y, 100, 34, "readout of\n[context; state]", "plain", size=12)
    c.arrow((query_x + 12, state_y - 22), (query_x + 12, sum_y + 18))
    c.arrow((query_x, sum_y - 17), (query_x, 58))
    c.box(query_x, 40, 44, 30, _seen(TARGET[at]), "output")


def _frame(c: Canvas, xs: Sequence[float], y: float, name: str) -> None:
    c.frame(xs[0] - 34, y - 34, xs[-1] - xs[0] + 68, 116)
    c.text(xs[0] - 30, y + 99, name, 13, anchor="start", bold=True)


def _cell(c: Canvas, x: float, y: float, token_y: float, name: str, token: str, fill: str) -> None:
    c.box(x, y, 44, 40, name, fill)
    c.arrow((x, token_y - 14), (x, y + 20))
    c.box(x, token_y, 44, 28, token, "word", size=12)


def _small(number: int) -> str:
    return "₀₁₂₃₄₅₆₇₈₉"[number]


def _seen(token: str) -> str:
    return "␣" if token == " " else token
