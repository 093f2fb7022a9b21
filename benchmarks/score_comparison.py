"""Six models that differ only in their score function, on string reversal (notebook 03).

    OMP_NUM_THREADS=1 python benchmarks/score_comparison.py
    OMP_NUM_THREADS=1 python benchmarks/score_comparison.py --refute   # ten times the epochs
    OMP_NUM_THREADS=1 python benchmarks/score_comparison.py --refute --scores none --times 3

All six have the same join, tanh(W_c [c_t; s_t]), with the same s_t, the same settings and the same
seeds. It writes course_utils/measured/scores.csv. With --refute those that fall behind are trained
longer: is the gap a matter of training?
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from statistics import mean

import torch
from torch import Tensor, nn

from course_utils.measured.tables import measure_missing
from course_utils.recurrent import reversal
from course_utils.recurrent.reversal import SCORES as RESULTS
from course_utils.recurrent.reversal import ScorePoint

COMMAND = "OMP_NUM_THREADS=1 python benchmarks/score_comparison.py [--refute]"
D = reversal.HIDDEN
LONGEST_SOURCE = 64


class OneJoin(nn.Module):
    """Weights from any score, and the one join of all six: tanh(W_c [c_t; s_t])."""

    def __init__(self, score: nn.Module | Callable, softmax: bool = True):
        super().__init__()
        self.score, self.softmax = score, softmax
        self.join = nn.Linear(2 * D, D)

    def forward(self, query: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.score(query, states)  # [B, T, S]
        weights = torch.softmax(scores, dim=-1) if self.softmax else scores
        joined = torch.cat([weights @ states, query], dim=-1)
        return torch.tanh(self.join(joined)), weights


def dot(query: Tensor, states: Tensor) -> Tensor:
    return query @ states.mT


def scaled(query: Tensor, states: Tensor) -> Tensor:
    return query @ states.mT / math.sqrt(D)


class General(nn.Module):
    """(W q) . k"""

    def __init__(self) -> None:
        super().__init__()
        self.between = nn.Linear(D, D, bias=False)

    def forward(self, query: Tensor, states: Tensor) -> Tensor:
        return self.between(query) @ states.mT


class Additive(nn.Module):
    """v . tanh(W q + U k)"""

    def __init__(self) -> None:
        super().__init__()
        self.for_query, self.for_state = nn.Linear(D, D), nn.Linear(D, D, bias=False)
        self.v = nn.Linear(D, 1, bias=False)

    def forward(self, query: Tensor, states: Tensor) -> Tensor:
        pairs = self.for_query(query)[:, :, None] + self.for_state(states)[:, None]
        return self.v(torch.tanh(pairs)).squeeze(-1)


class Linear(nn.Module):
    """w_s . q + b_s: it sees the decoder's state and the position, never the source."""

    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Linear(D, LONGEST_SOURCE)

    def forward(self, query: Tensor, states: Tensor) -> Tensor:
        return self.places(query)[..., : states.shape[1]]


SCORES: dict[str, Callable[[], nn.Module] | None] = {
    "none": None,
    "dot product": lambda: OneJoin(dot),
    "scaled": lambda: OneJoin(scaled),
    "general": lambda: OneJoin(General()),
    "additive": lambda: OneJoin(Additive()),
    "linear": lambda: OneJoin(Linear()),
    "no softmax": lambda: OneJoin(dot, softmax=False),
}
BEHIND = ("none", "scaled")


def measure(score: str, seed: int, epochs: int) -> ScorePoint:
    model = reversal.make_model(SCORES[score], seed=seed)
    history = reversal.train(model, epochs=epochs, seed=seed, show=False)
    figures = reversal.accuracy(model)
    shares = round(figures["characters"], 5), round(figures["strings"], 5)
    return ScorePoint(score, seed, epochs, *shares, round(history.seconds, 1))


def report(rows: list[ScorePoint]) -> None:
    for score, epochs in dict.fromkeys((r.score, r.epochs) for r in rows):
        same = [r for r in rows if (r.score, r.epochs) == (score, epochs)]
        for name in ("characters", "strings"):
            got = [getattr(r, name) for r in same]
            spread = f"({min(got):.2%} to {max(got):.2%}, {len(got)} seeds)"
            print(f"{score:12} {epochs:3} epochs, {name:10}: {mean(got):.2%} {spread}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--refute", action="store_true", help="those that fall behind, longer")
    parser.add_argument("--scores", nargs="+", choices=SCORES, help="only these")
    parser.add_argument("--times", type=int, default=10, help="how much longer, with --refute")
    options = parser.parse_args()
    torch.set_num_threads(1)
    epochs = (options.times if options.refute else 1) * reversal.EPOCHS["quick"]
    scores = options.scores or (BEHIND if options.refute else SCORES)
    settings = [
        {"score": score, "seed": seed, "epochs": epochs}
        for seed in range(options.seeds)
        for score in scores
    ]
    report(measure_missing(RESULTS, ScorePoint, settings, measure, COMMAND))


if __name__ == "__main__":
    main()
