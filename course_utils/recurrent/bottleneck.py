"""The experiments of the notebook on the bottleneck: train a small model, and measure it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.data.batches import Batch
from course_utils.data.string_tasks import PROMPTS, Task, epoch_of
from course_utils.measured import FOLDER
from course_utils.measured.tables import read_table
from course_utils.recurrent.seq2seq import Seq2Seq, evaluate, sequence_loss
from course_utils.training.devices import seed_everything
from course_utils.training.history import History
from course_utils.training.loop import fit

STEPS = FOLDER / "steps.csv"
CLAIMS = FOLDER / "bottleneck_claims.csv"
BATCH_SIZE = 16
STEPS_PER_EPOCH = 50
VALIDATION_SEED = -1  # no training seed is negative, so these lines are drawn apart


@dataclass(frozen=True)
class Figure:
    """One figure of one run of an experiment."""

    experiment: str
    variant: str
    seed: int
    figure: str
    value: float


@dataclass(frozen=True)
class StepsPoint:
    """The share of characters that a GRU gets right after some steps."""

    schedule: str
    hidden: int
    seed: int
    steps: int
    share_right: float


def train(
    task: Task,
    *,
    lengths: Sequence[int],
    steps: int,
    seed: int = 0,
    lr: float = 3e-3,
    decay: bool = False,
    show: bool = False,
    **slots,
) -> tuple[Seq2Seq, History]:
    """A `Seq2Seq` with these slots, trained for some steps on lines of these lengths.

    With `decay` the learning rate falls to zero, in a straight line.
    """
    seed_everything(seed)
    model = Seq2Seq(len(task.tokens), **slots)
    per_epoch = min(steps, STEPS_PER_EPOCH)
    lengths = list(lengths)
    history = fit(
        model,
        epoch_of(task, batches=per_epoch, size=BATCH_SIZE, lengths=lengths, seed=seed),
        sequence_loss,
        epochs=max(1, steps // per_epoch),
        lr=lr,
        schedule=(lambda step: 1 - (step - 1) / steps) if decay else None,
        seed=seed,
        device="cpu",  # models as small as these gain nothing on a GPU
        show=show,
    )
    return model, history


def accuracy(model: Seq2Seq, task: Task, length: int, lines: int = 256) -> dict[str, float]:
    """Loss, characters and exact share on lines of one length that training never drew."""
    return evaluate(model, [task.draw(lines, length, seed=VALIDATION_SEED)])


def load_steps(path: Path = STEPS) -> list[StepsPoint]:
    """The measured runs of accuracy against steps; `benchmarks/steps_curve.py` made them."""
    return read_table(path, StepsPoint)


def load_measured(experiment: str, path: Path = CLAIMS) -> dict[tuple[str, str], list[float]]:
    """The figures of one experiment, a value per seed; `benchmarks/bottleneck_claims.py` made them.

    The keys are (variant, figure), such as ("vanilla: start", "characters").
    """
    found: dict[tuple[str, str], list[float]] = {}
    for row in read_table(path, Figure):
        if row.experiment == experiment:
            found.setdefault((row.variant, row.figure), []).append(row.value)
    if not found:
        raise ValueError(f"{path.name} has no experiment {experiment!r}.")
    return found


def stored_probes() -> dict[str, dict[str, list[float]]]:
    """What `probe_bottleneck` found in trained models: the means of the stored seeds, by cell."""
    found = {key: sum(values) / len(values) for key, values in load_measured("probing").items()}
    return {
        name: {
            "letter": [found[cell, f"letter {t}"] for t in range(1, 9)],
            "prompt": [found[cell, "prompt"]],
            "case": [found[cell, "case"]],
        }
        for name, cell in (("vanilla RNN", "rnn"), ("GRU", "gru"))
    }


def alignment(model: Seq2Seq, task: Task, length: int, lines: int = 64) -> float:
    """The mean weight that the step for character t puts on the state that read character t."""
    batch = task.draw(lines, length, seed=VALIDATION_SEED)
    with torch.no_grad():
        _, weights = model(*_on_device(model, batch))
    offset = 1 if task.prompts and task.place in ("start", "both") else 0
    t = torch.arange(length)
    return float(weights[:, t, t + offset].mean())


def _on_device(model: Seq2Seq, batch: Batch) -> tuple[Tensor, Tensor]:
    device = next(model.parameters()).device
    return batch.source.to(device), batch.given.to(device)


def probe_bottleneck(
    model: Seq2Seq, task: Task, length: int, *, lines: int = 3000, seed: int = 0
) -> dict[str, list[float]]:
    """How well linear layers read the source from the bottleneck vector, on lines they never saw.

    prompt  [one figure]  the prompt: upper case or lower case
    letter  [length]      the t-th character, whatever its case
    case    [length]      whether the t-th character is a capital (letters only)
    """
    texts = [task.read(line) for line in task.draw_lines(2 * lines, length, seed=10_000 + seed)]
    batch = task.batch([f"{prompt} {text}" for text, prompt in texts])
    with torch.no_grad():
        encoded = model.encode(batch.source.to(next(model.parameters()).device))
    hidden = encoded.bottleneck
    vectors = (hidden[0] if isinstance(hidden, tuple) else hidden)[0].cpu()
    letters = torch.tensor([[ord(c.lower()) % 32 for c in text] for text, _ in texts])
    capitals = torch.tensor([[int(c.isupper()) for c in text] for text, _ in texts])
    prompts = torch.tensor([[PROMPTS.index(prompt)] for _, prompt in texts])
    is_letter = letters > 0  # a space has no case
    return {
        "prompt": _linear_probe(vectors, prompts, lines),
        "letter": _linear_probe(vectors, letters, lines),
        "case": _linear_probe(vectors, capitals, lines, counts=is_letter),
    }


def _linear_probe(
    vectors: Tensor, labels: Tensor, train_rows: int, counts: Tensor | None = None
) -> list[float]:
    """For each column of labels: one linear layer, trained on some rows, its share right on others."""
    counts = torch.ones_like(labels, dtype=torch.bool) if counts is None else counts
    classes = int(labels.max()) + 1
    inputs = (vectors - vectors[:train_rows].mean(0)) / (vectors[:train_rows].std(0) + 1e-6)
    weight = torch.zeros(labels.shape[1], inputs.shape[1], classes, requires_grad=True)
    bias = torch.zeros(labels.shape[1], 1, classes, requires_grad=True)
    optimiser = torch.optim.Adam([weight, bias], lr=0.05)
    wanted = labels.t().masked_fill(~counts.t(), -100)
    for _ in range(150):
        logits = inputs[:train_rows] @ weight + bias  # [columns, rows, classes]
        loss = F.cross_entropy(logits.flatten(0, 1), wanted[:, :train_rows].flatten())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        guess = (inputs[train_rows:] @ weight + bias).argmax(-1)
    fresh = wanted[:, train_rows:]
    return [
        float((row == want)[want >= 0].float().mean())
        for row, want in zip(guess, fresh, strict=True)
    ]


def gradient_by_step(model: Seq2Seq, batch: Batch) -> list[float]:
    """How large the loss's gradient is at each encoder state, from the first step to the last.

    The encoder runs step by step here, so that autograd keeps each state apart.
    """
    source, decoder_inputs = _on_device(model, batch)
    embedded = model.embedding(source)
    hidden: Any = None
    states: list[Any] = []
    for s in range(source.shape[1]):
        _, hidden = model.encoder(embedded[:, s : s + 1], hidden)
        hidden.retain_grad()
        states.append(hidden)
    memory = torch.cat([state.transpose(0, 1) for state in states], dim=1)
    logits, _, _ = model.decode(memory, hidden, decoder_inputs)
    target = batch.wanted.to(logits.device)
    model.zero_grad()
    F.cross_entropy(logits.flatten(0, 1), target.flatten()).backward()
    # The loss is a mean over the batch; each text's own share is what its states get.
    return [float(state.grad[0].norm(dim=-1).mean()) * len(source) for state in states]
