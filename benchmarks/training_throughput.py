"""Training throughput: all steps in one call against the usual loop over steps, in one run.

Both train the same model from the same weights on the same batches, so they must reach the same
losses; the loop calls cell, attention, readout and loss once a step, as such notebooks usually do.

    python benchmarks/training_throughput.py
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.seq2seq import Batch, Seq2Seq, sequence_loss
from course_utils.tasks import change_case
from course_utils.training import seed_everything


def dot_product(query: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
    """Attention for the slot: [B, T, D] and [B, S, D] to context [B, T, D], weights [B, T, S]."""
    weights = torch.softmax(query @ states.transpose(1, 2), dim=-1)
    return weights @ states, weights


def loss_step_by_step(model: Seq2Seq, batch: Batch) -> tuple[Tensor, int]:
    """The same loss as `sequence_loss`, one source step and one target step at a time."""
    hidden, states = None, []
    for s in range(batch.source.shape[1]):
        state, hidden = model.encoder(model.embedding(batch.source[:, s : s + 1]), hidden)
        states.append(state)
    memory = torch.cat(states, dim=1)
    token, total = batch.first, torch.zeros(())
    for t in range(batch.target.shape[1]):
        logits, _, hidden = model.decode(memory, hidden, token[:, None])
        total = total + F.cross_entropy(logits[:, 0], batch.target[:, t])
        token = batch.target[:, t]
    return total / batch.target.shape[1], batch.target.numel()


def train(model: Seq2Seq, batches: list[Batch], loss) -> tuple[float, list[float]]:
    """Seconds for one pass over the batches, and the loss of each."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    started = time.perf_counter()
    for batch in batches:
        value, _ = loss(model, batch)
        optimiser.zero_grad(set_to_none=True)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(value.detach())
    return time.perf_counter() - started, [float(value) for value in losses]


def compare(cell: str, size: int, hidden: int, length: int, steps: int, repeats: int) -> float:
    """Print one line for one setting, and give the ratio of the throughputs."""
    task = change_case()
    batches = [task.draw(size, length, seed=step) for step in range(steps)]
    characters = steps * batches[0].target.numel()
    seed_everything(0)
    start = Seq2Seq(len(task.tokens), hidden=hidden, cell=cell, attention=dot_product)
    train(copy.deepcopy(start), batches[:3], sequence_loss)  # warm up
    ratios, speeds = [], []
    for _ in range(repeats):  # in turns, so that a busy machine slows both
        fast, fast_losses = train(copy.deepcopy(start), batches, sequence_loss)
        slow, slow_losses = train(copy.deepcopy(start), batches, loss_step_by_step)
        difference = max(abs(a - b) for a, b in zip(fast_losses, slow_losses, strict=True))
        if difference > 1e-3:
            raise SystemExit(f"The two ways disagree: their losses differ by {difference:.2g}.")
        ratios.append(slow / fast)
        speeds.append(characters / fast)
    ratio = statistics.median(ratios)
    print(
        f"{cell:4}  B={size:<4} D={hidden:<4} length={length:<3} "
        f"{statistics.median(speeds):>9,.0f} characters/s, {ratio:4.1f} times the loop "
        f"(from {min(ratios):.1f} to {max(ratios):.1f}); losses agree to {difference:.0e}"
    )
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--at-least", type=float, default=3.0)
    options = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    ratios = [
        compare(cell, size, 64, 16, options.steps, options.repeats)
        for cell in ("rnn", "gru")
        for size in (16, 64)
    ]
    worst = min(ratios)
    print(f"worst ratio {worst:.1f}, asked for {options.at_least:g}")
    if worst < options.at_least:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
