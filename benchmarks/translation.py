"""How fast the translator is: ratios of two ways to the same numbers, measured in one run.

    python benchmarks/translation.py                 # on Multi30k, or the built-in corpus
    python benchmarks/translation.py --batches 6     # fewer batches

1. Training: target words a second of the decoder that runs over all steps at once, against the
   loop of the usual notebooks, which takes one step at a time through the recurrent layer, the
   attention and the output layer. Same weights, same batches, same loss, same gradients.
2. Decoding: the test sentences greedily, all together against one at a time. Same words.
"""

import argparse
import os
import resource
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F
from translation_table import model_path

from autograder.reference.translation import SingleQueryScaledDotProductAttention
from course_utils.data import encode, length_batches, load_corpus
from course_utils.data.tokens import PAD
from course_utils.training import seed_everything
from course_utils.translation import (
    Sizes,
    Translator,
    greedy,
    make_translator,
    train_translator,
    translation_loss,
)


def loss_step_by_step(model: Translator, batch) -> tuple[torch.Tensor, int]:
    """The usual loop: one word at a time, scores for padding too, then one loss over all."""
    states, hidden = model.encode(batch.source)
    T, B = batch.given.shape
    outputs = torch.zeros(T, B, model.output.out_features)
    for step in range(T):
        embedded = model.dropout(model.target_embedding(batch.given[step : step + 1]))
        output, last = model.decoder(embedded, hidden[None])
        hidden = last[0]
        context, _ = model.attention(output[0], states)
        outputs[step] = model.scores(context, output[0])
    loss = F.cross_entropy(
        outputs.reshape(T * B, -1), batch.wanted.reshape(-1), ignore_index=PAD, reduction="mean"
    )
    return loss, batch.words


def gradients(model: Translator, loss_of, batch) -> tuple[float, list[torch.Tensor]]:
    model.zero_grad()
    loss, _ = loss_of(model, batch)
    loss.backward()
    return loss.item(), [p.grad.clone() for p in model.parameters()]


def words_a_second(model: Translator, loss_of, batches) -> float:
    """Training steps on these batches: forward, backward, clip, update."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-5)
    started, words = time.perf_counter(), 0
    for batch in batches:
        optimiser.zero_grad()
        loss, count = loss_of(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        words += count
    return words / (time.perf_counter() - started)


def compare_training(model: Translator, batches, rounds: int) -> float:
    model.eval()  # without dropout, so that both ways must give the same numbers
    for batch in batches[:2]:
        loss, grads = gradients(model, translation_loss, batch)
        slow_loss, slow_grads = gradients(model, loss_step_by_step, batch)
        assert abs(loss - slow_loss) < 1e-4, (loss, slow_loss)
        for one, other in zip(grads, slow_grads, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)
    model.train()
    ratios = []
    for _ in range(rounds):
        # The two alternate, so that a busy machine is as busy for both.
        fast = words_a_second(model, translation_loss, batches)
        slow = words_a_second(model, loss_step_by_step, batches)
        ratios.append(fast / slow)
        print(f"  all steps at once {fast:8.0f} words/s   step by step {slow:8.0f} words/s")
    ratio = statistics.median(ratios)
    print(f"training: {ratio:.1f} times as fast, with the same loss and the same gradients")
    return ratio


def compare_decoding(model: Translator, data, rounds: int) -> float:
    sources = [example.source for example in data.test]
    greedy(model, data, sources[:20])
    together_seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        together = greedy(model, data, sources)
        together_seconds.append(time.perf_counter() - started)
    started = time.perf_counter()
    alone = [greedy(model, data, [source])[0] for source in sources]
    alone_seconds = time.perf_counter() - started
    differing = sum(a.words != b.words for a, b in zip(together, alone, strict=True))
    fast = statistics.median(together_seconds)
    print(f"  {len(sources)} sentences together {fast:.2f} s, one at a time {alone_seconds:.2f} s")
    print(f"decoding: {alone_seconds / fast:.1f} times as fast, {differing} sentences differ")
    assert differing == 0, "batched decoding must write the same words"
    return alone_seconds / fast


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--batches", type=int, default=12)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {torch.get_num_threads()} threads")
    data = encode(load_corpus("de"))
    seed_everything(0)
    sizes = Sizes()
    attention = SingleQueryScaledDotProductAttention(sizes.encoder, sizes.decoder, 256)
    model = make_translator(data, attention, sizes)
    batches = length_batches(data.train, 128, seed=0)
    batches = [batch for batch in batches if batch.source.shape[1] > 64][: chosen.batches]
    compare_training(model, batches, chosen.rounds)

    trained = model_path("scaled", "quick", 0)
    if data.corpus.name == "Multi30k" and trained.exists():
        model.load_state_dict(torch.load(trained, weights_only=True))
        print(f"decoding with the trained model {trained.name}")
    else:
        from course_utils.translation import Recipe

        print("no trained model is here: a short training first, so that sentences end")
        train_translator(model, data, Recipe(epochs=1, examples=4000), show=False)
    compare_decoding(model, data, chosen.rounds)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"most memory used: {used:.2f} GB")


if __name__ == "__main__":
    main()
