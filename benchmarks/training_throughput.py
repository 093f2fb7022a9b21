"""Training throughput: all steps in one call against the usual loop over steps, in one run.

Both train the same model from the same weights on the same batches, so they must reach the same
losses. The loop calls cell, attention, readout and loss once per step, as such notebooks usually do.
Time is CPU time on one thread, so that a busy machine does not change the ratio.

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

from course_utils.data.batches import Batch
from course_utils.data.string_tasks import change_case
from course_utils.recurrent.bottleneck import BATCH_SIZE
from course_utils.recurrent.seq2seq import Seq2Seq, sequence_loss
from course_utils.training.devices import seed_everything
from course_utils.training.loop import fit


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
    token, total = batch.given[:, 0], torch.zeros(())
    for t in range(batch.wanted.shape[1]):
        logits, _, hidden = model.decode(memory, hidden, token[:, None])
        total = total + F.cross_entropy(logits[:, 0], batch.wanted[:, t])
        token = batch.wanted[:, t]
    return total / batch.wanted.shape[1], batch.wanted.numel()


def train_by_loop(model: Seq2Seq, batches: list[Batch]) -> tuple[float, float]:
    """CPU seconds for one pass over the batches with the usual loop, and the mean loss."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    total = torch.zeros(())
    started = time.process_time()
    for batch in batches:
        value, _ = loss_step_by_step(model, batch)
        optimiser.zero_grad(set_to_none=True)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        total += value.detach()
    return time.process_time() - started, float(total) / len(batches)


def train_by_fit(model: Seq2Seq, batches: list[Batch]) -> tuple[float, float]:
    """The same with the course's trainer, including everything else that it does."""
    started = time.process_time()
    history = fit(
        model, lambda epoch: batches, sequence_loss, epochs=1, lr=1e-3, show=False, device="cpu"
    )
    return time.process_time() - started, history.records[0]["train_loss"]


def compare(cell: str, size: int, hidden: int, length: int, steps: int, repeats: int) -> float:
    """Print one line for one setting, and return the ratio of the throughputs."""
    task = change_case()
    batches = [task.draw(size, length, seed=step) for step in range(steps)]
    characters = steps * batches[0].wanted.numel()
    seed_everything(0)
    start = Seq2Seq(len(task.tokens), hidden=hidden, cell=cell, attention=dot_product)
    train_by_fit(copy.deepcopy(start), batches[:3])  # warm up
    ratios, speeds = [], []
    for _ in range(repeats):  # in turn, so that changes on the machine affect both
        fast, fast_loss = train_by_fit(copy.deepcopy(start), batches)
        slow, slow_loss = train_by_loop(copy.deepcopy(start), batches)
        difference = abs(fast_loss - slow_loss)
        if difference > 1e-3:
            raise SystemExit(f"The two ways disagree: their losses differ by {difference:.2g}.")
        ratios.append(slow / fast)
        speeds.append(characters / fast)
    ratio = statistics.median(ratios)
    print(
        f"{cell:4}  B={size:<4} D={hidden:<4} length={length:<3} "
        f"{statistics.median(speeds):>9,.0f} characters per CPU second, {ratio:4.1f} times the loop "
        f"(from {min(ratios):.1f} to {max(ratios):.1f}); losses agree to {difference:.0e}",
        flush=True,
    )
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--at-least", type=float, default=3.0, help="for the notebook's own model")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, one thread")
    # First the notebook's model, a vanilla RNN with attention; then the others.
    settings = [("rnn", BATCH_SIZE), ("rnn", 64), ("gru", BATCH_SIZE), ("lstm", BATCH_SIZE)]
    ratios = [compare(*s, 64, 16, options.steps, options.repeats) for s in settings]
    print(f"the notebook's model: {ratios[0]:.1f} times the loop, goal {options.at_least:g}")
    if ratios[0] < options.at_least:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
