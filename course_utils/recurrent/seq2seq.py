"""A small encoder-decoder with slots: the cell, the attention and the positions are arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.data.batches import Batch
from course_utils.data.string_tasks import Task
from course_utils.data.tokens import PAD
from course_utils.training.devices import move

CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}

Hidden = Tensor | tuple[Tensor, Tensor]
Attention = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class Encoded(NamedTuple):
    """What the encoder hands over: a state for each source step, and its last hidden state."""

    states: Tensor  # [B, S, D]
    bottleneck: Hidden


class Seq2Seq(nn.Module):
    """An RNN encoder, an RNN decoder, and a slot for attention between them.

    vocabulary       how many tokens there are, source and target together
    hidden           D, the size of the states
    cell             "rnn", "gru" or "lstm"
    attention        None, or attention(query [B, T, D], states [B, S, D]) -> (what, [B, T, S])
    attention_gives  "context": the result is c_t, and the readout reads c_t and s_t;
                     "hidden": the result already joins both, and the readout reads it alone
    positions        None, or a table [longest, d] whose row t goes with source step t
    position_mode    "append" the row to the token's embedding, or "add" it (then d is `embed`)
    encoder          "recurrent"; or without recurrence (then the bottleneck is zero):
                     "stepwise": one linear layer makes each state from its own step alone;
                     "positions": the same, but the scores see the positions only
    counts_only      the decoder does not read what it wrote before: it can only count its steps

    Attention comes after the recurrent step, so with teacher forcing the decoder runs over all
    target steps in one call, and so does the attention.
    """

    positions: Tensor | None
    asks_where: Tensor

    def __init__(
        self,
        vocabulary: int,
        *,
        hidden: int = 64,
        embed: int = 32,
        cell: str = "rnn",
        attention: Attention | None = None,
        attention_gives: str = "context",
        positions: Tensor | None = None,
        position_mode: str = "append",
        encoder: str = "recurrent",
        counts_only: bool = False,
    ) -> None:
        super().__init__()
        _one_of("cell", cell, CELLS)
        _one_of("attention_gives", attention_gives, ("context", "hidden"))
        _one_of("position_mode", position_mode, ("append", "add"))
        _one_of("encoder", encoder, ("recurrent", "stepwise", "positions"))
        if encoder != "recurrent" and attention is None:
            raise ValueError(f"encoder={encoder!r} has no bottleneck, so it needs an attention.")
        if encoder == "positions" and positions is None:
            raise ValueError('encoder="positions" needs a table of positions.')
        self.hidden = hidden
        self.counts_only = counts_only
        self.position_mode = position_mode
        self.attention = attention
        self.attention_gives = attention_gives
        self.embedding = nn.Embedding(vocabulary, embed)
        self.register_buffer("positions", _as_table(positions, embed, position_mode))
        place_size = 0 if self.positions is None else self.positions.shape[1]
        encoder_input = embed + (place_size if position_mode == "append" else 0)
        self.kind = encoder
        if encoder == "recurrent":
            self.encoder = CELLS[cell](encoder_input, hidden, batch_first=True)
        elif encoder == "stepwise":
            self.encoder = nn.Linear(encoder_input, hidden)
        else:
            # Half of a state encodes where, the other half what; queries ask only where.
            self.where = nn.Linear(place_size, hidden // 2)
            self.what = nn.Linear(embed, hidden - hidden // 2)
            asks_where = torch.arange(hidden) < hidden // 2
            self.register_buffer("asks_where", asks_where.float())
        self.decoder = CELLS[cell](embed, hidden, batch_first=True)
        joined = attention is not None and attention_gives == "context"
        self.readout = nn.Linear(2 * hidden if joined else hidden, vocabulary)

    def encode(self, source: Tensor) -> Encoded:
        """Read the source [B, S] (or [B, S, C]) into states [B, S, D] and the bottleneck."""
        embedded = self.embedding(source)
        if source.dim() == 3:
            embedded = embedded.sum(dim=2)
        rows = self._position_rows(source.shape[1])
        if self.kind == "positions":
            where = self.where(rows).expand(len(source), -1, -1)
            states = torch.cat([where, self.what(embedded)], dim=-1)
            return Encoded(states, self._no_bottleneck(len(source)))
        if rows is not None and self.position_mode == "add":
            embedded = embedded + rows
        elif rows is not None:
            embedded = torch.cat([embedded, rows.expand(len(source), -1, -1)], dim=-1)
        if self.kind == "stepwise":
            return Encoded(self.encoder(embedded), self._no_bottleneck(len(source)))
        return Encoded(*self.encoder(embedded))

    def decode(
        self, states: Tensor, hidden: Hidden, inputs: Tensor
    ) -> tuple[Tensor, Tensor | None, Hidden]:
        """From decoder inputs [B, T]: logits [B, T, V], weights [B, T, S] or None, last hidden."""
        if self.counts_only:
            inputs = torch.full_like(inputs, PAD)
        outputs, hidden = self.decoder(self.embedding(inputs), hidden)
        if self.attention is None:
            return self.readout(outputs), None, hidden
        query = outputs * self.asks_where if self.kind == "positions" else outputs
        attended, weights = self.attention(query, states)
        if self.attention_gives == "context":
            attended = torch.cat([attended, outputs], dim=-1)
        return self.readout(attended), weights, hidden

    def forward(self, source: Tensor, decoder_inputs: Tensor) -> tuple[Tensor, Tensor | None]:
        """Logits [B, T, V] and weights [B, T, S] for all target steps at once."""
        encoded = self.encode(source)
        logits, weights, _ = self.decode(encoded.states, encoded.bottleneck, decoder_inputs)
        return logits, weights

    @torch.no_grad()
    def greedy(
        self,
        source: Tensor,
        first: Tensor,
        steps: int,
        *,
        encoded: Encoded | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Take the most likely token at each step: tokens [B, steps], weights [B, steps, S].

        Give `encoded` to decode from states or a bottleneck that were changed on purpose.
        """
        encoded = self.encode(source) if encoded is None else encoded
        hidden, token = encoded.bottleneck, first
        tokens: list[Tensor] = []
        maps: list[Tensor] = []
        for _ in range(steps):
            logits, weights, hidden = self.decode(encoded.states, hidden, token[:, None])
            token = logits[:, -1].argmax(dim=-1)
            tokens.append(token)
            if weights is not None:
                maps.append(weights)
        return torch.stack(tokens, dim=1), torch.cat(maps, dim=1) if maps else None

    def _position_rows(self, length: int) -> Tensor | None:
        if self.positions is None:
            return None
        if length > len(self.positions):
            raise ValueError(
                f"The source has {length} steps, but the table of positions ends after "
                f"{len(self.positions)}. Make a longer table, or give a shorter text."
            )
        return self.positions[:length]

    def _no_bottleneck(self, size: int) -> Hidden:
        zeros = torch.zeros(1, size, self.hidden, device=self.embedding.weight.device)
        return (zeros, zeros.clone()) if isinstance(self.decoder, nn.LSTM) else zeros


def every_step(attend: Attention) -> Attention:
    """Attention for all target steps, from a function for one: attend(query [B, D], states)."""

    def attention(query: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        B, T, D = query.shape
        S = states.shape[1]
        repeated = states[:, None].expand(B, T, S, D).reshape(B * T, S, D)
        context, weights = attend(query.reshape(B * T, D), repeated)
        return context.reshape(B, T, D), weights.reshape(B, T, S)

    return attention


def sequence_loss(model: Seq2Seq, batch: Batch) -> tuple[Tensor, int]:
    """The mean cross-entropy of the target tokens, and how many there are; for `fit`."""
    logits, _ = model(batch.source, batch.given)
    loss = F.cross_entropy(logits.flatten(0, 1), batch.wanted.flatten(), ignore_index=PAD)
    return loss, batch.words


@torch.no_grad()
def evaluate(model: Seq2Seq, batches: Iterable[Batch]) -> dict[str, float]:
    """Loss with teacher forcing, then what greedy decoding gets right, as shares from 0 to 1.

    characters  tokens right at their position, including the end
    exact       sequences without any mistake
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    loss = right = tokens = exact = sequences = 0.0
    for batch in batches:
        batch = move(batch, device)
        mean, count = sequence_loss(model, batch)
        guess, _ = model.greedy(batch.source, batch.given[:, 0], batch.wanted.shape[1])
        counts = batch.wanted != PAD
        hits = (guess == batch.wanted) & counts
        loss += float(mean) * count
        right += float(hits.sum())
        tokens += count
        exact += float((hits | ~counts).all(dim=1).sum())
        sequences += len(guess)
    model.train(was_training)
    if not sequences:
        raise ValueError("There is no batch to evaluate on.")
    return {"loss": loss / tokens, "characters": right / tokens, "exact": exact / sequences}


def answer(model: Seq2Seq, task: Task, line: str) -> tuple[str, Tensor | None]:
    """What the model writes for one line, and its attention weights [T, S] (None if it has none)."""
    batch = task.batch([line])
    device = next(model.parameters()).device
    steps = len(task.read(line)[0]) + 1  # no task here makes a text longer; one step for the end
    tokens, weights = model.greedy(batch.source.to(device), batch.given[:, 0].to(device), steps)
    written = task.write(tokens[0])
    return written, None if weights is None else weights[0].cpu()


def _one_of(name: str, value: Any, allowed: Iterable[str]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}, but it must be one of {', '.join(allowed)}.")


def _as_table(positions: Tensor | None, embed: int, mode: str) -> Tensor | None:
    if positions is None:
        return None
    table = torch.as_tensor(positions, dtype=torch.float32).detach().clone()
    if table.dim() != 2:
        raise ValueError(f"positions must be a table [longest, d], but its shape is {table.shape}.")
    if mode == "add" and table.shape[1] != embed:
        raise ValueError(
            f"To add positions to embeddings both need one size, but the table has "
            f"{table.shape[1]} columns and the embeddings have {embed}."
        )
    return table
