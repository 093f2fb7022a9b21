"""Drawings of the two translators: attention after the recurrent step, and before it."""

from __future__ import annotations

import itertools

from .drawing import Canvas
from .picture import Picture

SOURCE = ("die", "Frau", "hebt", "den", "Ball", "auf")
TARGET = ("<s>", "the", "woman", "picks")
WRITTEN = ("the", "woman", "picks", "up")
LOOKS = (0.04, 0.04, 0.35, 0.04, 0.06, 0.47)


def translator_diagram() -> Picture:
    """One step of the decoder of notebook 04: first the GRU takes its step, then it attends."""
    canvas = Canvas(900, 400)
    canvas.frame(16, 196, 440, 190)
    canvas.frame(520, 196, 364, 190)
    canvas.text(30, 376, "encoder: a GRU in both directions", anchor="start", size=12)
    canvas.text(534, 376, "decoder: a GRU", anchor="start", size=12)
    places = [58 + 71 * i for i in range(len(SOURCE))]
    for number, (x, word) in enumerate(zip(places, SOURCE, strict=True), 1):
        canvas.text(x, 350, word, bold=True)
        canvas.arrow((x, 334), (x, 302))
        canvas.box(x, 280, 44, 40, f"h{number}", "word")
    for left, right in itertools.pairwise(places):
        canvas.arrow((left + 23, 273), (right - 23, 273))
        canvas.arrow((right - 23, 287), (left + 23, 287))
    steps = [566 + 88 * i for i in range(len(TARGET))]
    for number, (x, word) in enumerate(zip(steps, TARGET, strict=True), 1):
        canvas.text(x, 350, word, bold=True)
        canvas.arrow((x, 334), (x, 302))
        canvas.box(x, 280, 48, 40, f"d{number}", "feed", new=number == 4)
    for left, right in itertools.pairwise(steps):
        canvas.arrow((left + 25, 280), (right - 25, 280))
    canvas.arrow((places[-1] + 23, 280), (steps[0] - 25, 280))
    canvas.text(488, 268, "(5), (6)", size=11)
    canvas.box(250, 120, 250, 44, "attention (9): your module", "attention", new=True)
    for x, look in zip(places, LOOKS, strict=True):
        canvas.shapes.append(
            f'<line class="s2" x1="{x}" y1="259" x2="{130 + 0.55 * x:g}" y2="143" '
            f'stroke-width="{0.8 + 9 * look:g}"/>'
        )
    canvas.text(16, 128, "keys and values:", size=12, anchor="start")
    canvas.text(16, 144, "all h", size=12, anchor="start")
    canvas.arrow((steps[3], 259), (steps[3], 176), (330, 176), (330, 143))
    canvas.text(640, 168, "query: d4", size=12)
    canvas.box(steps[3], 120, 128, 44, "softmax of\nW [c4, d4]   (10)", "output", size=12)
    canvas.arrow((375, 120), (steps[3] - 65, 120))
    canvas.text(570, 110, "context c4 = Σ α h", size=12)
    canvas.arrow((steps[3], 176), (steps[3], 143))
    canvas.arrow((steps[3], 97), (steps[3], 58))
    canvas.text(steps[3], 46, "up", size=15, bold=True)
    canvas.text(steps[3] - 20, 46, "next word:", size=12, anchor="end")
    explained = "Thicker lines mean more attention: “up” needs “hebt” and “auf”."
    canvas.text(34, 46, explained, size=12, anchor="start")
    return canvas.picture(
        "The translator. The encoder, a GRU that runs in both directions, turns the "
        "words die Frau hebt den Ball auf into states h1 to h6. Its two ends start the decoder, "
        "a GRU that reads the words written so far. Its state d4 after 'the woman picks' is the "
        "query of the attention; the states h1 to h6 are the keys and values. The attention "
        "returns the context c4, the weighted sum of the states, here mostly of 'hebt' and 'auf'. "
        "Context c4 and state d4 together give the probabilities of the next word, 'up'."
    )


def slides_diagram() -> Picture:
    """One step of the other decoder: first it attends, then the GRU takes its step."""
    canvas = Canvas(860, 250)
    canvas.text(62, 84, "state d", bold=True)
    canvas.text(62, 164, "input u", bold=True)
    canvas.box(230, 84, 150, 52, "softmax of\nW [d, u] + b", "attention")
    canvas.arrow((98, 80), (153, 80))
    canvas.arrow((98, 156), (130, 156), (130, 92), (153, 92))
    canvas.box(420, 84, 120, 52, "c = Σ α h", "word")
    canvas.arrow((306, 84), (358, 84))
    canvas.text(332, 74, "α", size=13)
    canvas.text(420, 30, "encoder states h", bold=True)
    canvas.arrow((420, 38), (420, 57))
    canvas.box(570, 164, 130, 52, "ReLU of\nW [u, c] + b", "feed")
    canvas.arrow((98, 168), (503, 168))
    canvas.arrow((481, 84), (570, 84), (570, 137))
    canvas.box(740, 164, 100, 52, "GRU", "output")
    canvas.arrow((636, 164), (688, 164))
    canvas.arrow((62, 94), (62, 122), (22, 122), (22, 222), (740, 222), (740, 191))
    canvas.text(480, 214, "state d", size=12)
    canvas.arrow((740, 137), (740, 96))
    canvas.text(740, 84, "next word, next d", size=13, bold=True)
    return canvas.picture(
        "One step of the other decoder. The old state d and the input u go through a linear "
        "layer and a softmax, which gives the weights alpha without looking at the encoder "
        "states h. The weighted sum of these states is the context c. Input and context go "
        "through a ReLU layer. Only then does the GRU turn its result and the old state d into "
        "the next state, which gives the next word."
    )
