"""Watch a beam search from outside: what it asked the model, to be drawn as a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor


class BeamTrace:
    """Use it in place of `step`: it remembers the prefixes it was asked about, and its answers."""

    def __init__(self, step: Callable[[Tensor], Tensor]):
        self.step = step
        self.calls: list[tuple[list[tuple[int, ...]], Tensor]] = []

    def __call__(self, prefixes) -> Tensor:
        answers = self.step(prefixes)
        self.calls.append(([tuple(int(t) for t in row) for row in prefixes], answers))
        return answers

    def tree(self, words: Sequence[str], end: int, beam: int) -> list[list[dict]]:
        """The steps for the `beam_tree` widget, each with its best continuations.

        It contains every continuation that was kept, and as many dropped ones as the beam is wide.
        """
        totals: dict[tuple[int, ...], float] = {self.calls[0][0][0]: 0.0}
        parents: dict[tuple[int, ...], int | None] = {self.calls[0][0][0]: None}
        steps = []
        for number, (prefixes, answers) in enumerate(self.calls):
            asked_next = set(self.calls[number + 1][0]) if number + 1 < len(self.calls) else set()
            options = []
            for prefix, row in zip(prefixes, answers, strict=True):
                if prefix not in totals:
                    continue  # a different kind of search: draw what can be drawn
                best = row.topk(min(2 * beam, len(row)))
                for value, word in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                    options.append(((*prefix, word), totals[prefix] + value))
            options.sort(key=lambda option: -option[1])
            last = not asked_next
            entries: list[dict] = []
            places: dict[tuple[int, ...], int | None] = {}
            for rank, (prefix, total) in enumerate(options):
                ended = prefix[-1] == end
                kept = prefix in asked_next or (rank < beam and (ended or last))
                if kept or rank < 2 * beam:
                    places[prefix] = len(entries)
                    entries.append(
                        {
                            "token": words[prefix[-1]],
                            "score": total,
                            "parent": parents[prefix[:-1]],
                            "kept": kept,
                            "finished": ended and kept,
                        }
                    )
                    totals[prefix] = total
            parents = places
            steps.append(entries)
        return steps
