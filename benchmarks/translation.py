"""How fast the translator is: two ways to compute the same numbers, compared in one run.

    python benchmarks/translation.py                 # on Multi30k, or the built-in corpus
    python benchmarks/translation.py --batches 6     # fewer batches

1. Training: target words per second of the decoder that computes all steps at once, against the
   usual notebooks' loop, which takes one step at a time through the recurrent layer, the attention
   and the output layer, with W_d of equation 10 as one matrix. Both have the same sizes, batches,
   loss and gradients. In between is a loop with our two narrow matrices instead of the one, to
   show what the loop alone costs.
2. Decoding: the test sentences greedily, all together against one at a time, with the same words.
"""

import argparse
import copy
import math
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
from course_utils.data.tokens import END, NEVER_WRITTEN, PAD, START
from course_utils.training.devices import seed_everything
from course_utils.training.recipe import Recipe
from course_utils.translation.decoding import translate
from course_utils.translation.model import Translator, Widths, length_limit
from course_utils.translation.training import make_translator, train_translator, translation_loss


def loss_step_by_step(model: Translator, batch, scores_of=None) -> tuple[torch.Tensor, int]:
    """The usual loop: one word at a time, scores for padding too, then one loss over all."""
    scores_of = scores_of or model.scores
    states, hidden = model.encode(batch.source.T)
    given, wanted = batch.given.T, batch.wanted.T
    T, B = given.shape
    outputs = torch.zeros(T, B, model.output.out_features)
    for step in range(T):
        embedded = model.dropout(model.target_embedding(given[step : step + 1]))
        output, last = model.decoder(embedded, hidden[None])
        hidden = last[0]
        context, _ = model.attention(output[0], states)
        outputs[step] = scores_of(context, output[0])
    loss = F.cross_entropy(
        outputs.reshape(T * B, -1), wanted.reshape(-1), ignore_index=PAD, reduction="mean"
    )
    return loss, batch.words


class WholeOutput(nn.Module):
    """The same translator with W_d of equation 10 as one matrix, as the usual notebooks have it."""

    def __init__(self, model: Translator):
        super().__init__()
        self.model = copy.deepcopy(model)
        self.W_d = nn.Parameter(model.output.weight.detach() @ model.narrow.weight.detach())

    def scores(self, context, hidden):
        joined = self.model.dropout(torch.cat([context, hidden], dim=-1))
        return F.linear(joined, self.W_d, self.model.output.bias)


def loss_as_usual(usual: WholeOutput, batch) -> tuple[torch.Tensor, int]:
    return loss_step_by_step(usual.model, batch, usual.scores)


def gradients(model: nn.Module, loss_of, batch) -> tuple[float, dict[str, torch.Tensor]]:
    model.zero_grad()
    loss, _ = loss_of(model, batch)
    loss.backward()
    return loss.item(), {
        n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None
    }


def assert_same_numbers(model: Translator, usual: WholeOutput, batch) -> None:
    """Check that both loops give the loss and the gradients of the fast way."""
    close = {"rtol": 1e-3, "atol": 1e-5}
    loss, grads = gradients(model, translation_loss, batch)
    loop_loss, loop_grads = gradients(model, loss_step_by_step, batch)
    usual_loss, usual_grads = gradients(usual, loss_as_usual, batch)
    assert abs(loss - loop_loss) < 1e-4 and abs(loss - usual_loss) < 1e-4
    for name, gradient in grads.items():
        torch.testing.assert_close(gradient, loop_grads[name], **close)
        if name.startswith(("encoder", "decoder", "attention", "sentence", "source_embedding")):
            torch.testing.assert_close(gradient, usual_grads[f"model.{name}"], **close)
    # W_d is a product, so the gradients of its parts follow from its own by the chain rule.
    whole = usual_grads["W_d"]
    torch.testing.assert_close(grads["narrow.weight"], model.output.weight.T @ whole, **close)
    words = usual_grads["model.target_embedding.weight"] + whole @ model.narrow.weight.T
    torch.testing.assert_close(grads["target_embedding.weight"], words, **close)


def words_per_second(model: Translator, loss_of, batches) -> float:
    """Training steps on these batches: forward, backward, clip, update."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-5, fused=True)
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
    usual = WholeOutput(model)
    model.eval(), usual.eval()  # without dropout, so that all must give the same numbers
    for batch in batches[:2]:
        assert_same_numbers(model, usual, batch)
    model.train(), usual.train()
    ways = {
        "all steps at once": (model, translation_loss),
        "step by step": (model, loss_step_by_step),
        "step by step, W_d as one matrix": (usual, loss_as_usual),
    }
    speeds = {name: [] for name in ways}
    for _ in range(rounds):
        # They alternate, so that a busy machine is as busy for all.
        for name, (translator, loss_of) in ways.items():
            speeds[name].append(words_per_second(translator, loss_of, batches))
    fast, loop, as_usual = (statistics.median(values) for values in speeds.values())
    for name, values in speeds.items():
        print(f"  {name:<34}{statistics.median(values):8.0f} words per second")
    print(f"training: {fast / loop:.1f} times as fast as the loop with the same layers")
    print(
        f"training: {fast / as_usual:.1f} times as fast as the usual loop, same loss and gradients"
    )
    return fast / as_usual


@torch.inference_mode()
def translate_sentence(usual: WholeOutput, data, source: list[int]) -> list[str]:
    """The usual way: one sentence, one word at a time, until the end token."""
    model, numbers = usual.model, [START]
    states, hidden = model.encode(torch.tensor(source)[:, None])
    for _ in range(length_limit(len(source))):
        embedded = model.target_embedding(torch.tensor([[numbers[-1]]]))
        output, last = model.decoder(embedded, hidden[None])
        hidden = last[0]
        context, _ = model.attention(hidden, states)
        scores = usual.scores(context, hidden)
        scores[:, NEVER_WRITTEN] = -math.inf
        numbers.append(scores.argmax(1).item())
        if numbers[-1] == END:
            break
    return data.target_vocabulary.decode(numbers)


def compare_decoding(model: Translator, data, rounds: int) -> float:
    sources = [example.source for example in data.test]
    usual = WholeOutput(model).eval()
    translate(model, data, sources[:20])
    together_seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        together = translate(model, data, sources)
        together_seconds.append(time.perf_counter() - started)
    started = time.perf_counter()
    alone = [translate(model, data, [source])[0].words for source in sources]
    alone_seconds = time.perf_counter() - started
    started = time.perf_counter()
    as_usual = [translate_sentence(usual, data, source) for source in sources]
    usual_seconds = time.perf_counter() - started
    fast = statistics.median(together_seconds)
    print(
        f"  {len(sources)} sentences together {fast:.2f} s, one at a time {alone_seconds:.2f} s, "
    )
    print(f"  one at a time with W_d as one matrix {usual_seconds:.2f} s")
    words = [one.words for one in together]
    differing = sum(a != b or a != c for a, b, c in zip(words, alone, as_usual, strict=True))
    print(f"decoding: {alone_seconds / fast:.1f} times as fast as one at a time")
    print(
        f"decoding: {usual_seconds / fast:.1f} times as fast as the usual loop, "
        f"{differing} sentences differ"
    )
    assert differing == 0, "all ways must write the same words"
    return usual_seconds / fast


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--batches", type=int, default=12)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {torch.get_num_threads()} threads")
    data = encode(load_corpus("de"))
    seed_everything(0)
    widths = Widths()
    attention = SingleQueryScaledDotProductAttention(widths.encoder, widths.decoder, 256)
    model = make_translator(data, attention, widths)
    batches = length_batches(data.train, 128, seed=0)
    batches = [batch for batch in batches if len(batch.source) > 64][: chosen.batches]
    compare_training(model, batches, chosen.rounds)

    trained = model_path("scaled", "quick", 0)
    if data.corpus.name == "Multi30k" and trained.exists():
        model.load_state_dict(torch.load(trained, weights_only=True))
        print(f"decoding with the trained model {trained.name}")
    else:
        print("there is no trained model: training one briefly first, so that sentences end")
        train_translator(model, data, Recipe(epochs=1, batch_size=128, examples=4000), show=False)
    compare_decoding(model, data, chosen.rounds)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"most memory used: {used:.2f} GB")


if __name__ == "__main__":
    main()
