"""Our MultiHeadAttention against torch.nn.MultiheadAttention: forward and backward, one run.

    python benchmarks/multi_head.py

Both hold the same weights and take turns, so that a busy machine is busy for both. The ratio of
the medians should be at most 1.2.
"""

import argparse
import statistics
import time

import torch
from torch import nn

from autograder.solutions import solution

SIZES = {  # name: B, T, D, num_heads, causal mask
    "training a translator": (64, 16, 256, 8, True),
    "longer sequences": (16, 128, 256, 8, True),
    "no mask": (32, 64, 256, 4, False),
}
LIMIT = 1.2


def pair(D: int, num_heads: int) -> tuple[nn.Module, nn.Module]:
    """The reference solution of notebook 05, and torch's module with the same weights."""
    ours = solution("multi-head-attention")(D, num_heads)
    theirs = nn.MultiheadAttention(D, num_heads, batch_first=True)
    projections = (ours.W_Q, ours.W_K, ours.W_V)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        theirs.out_proj.weight.copy_(ours.W_O.weight)
        theirs.out_proj.bias.copy_(ours.W_O.bias)
    return ours, theirs


def seconds(call, x: torch.Tensor) -> float:
    start = time.perf_counter()
    output, _ = call(x)
    output.sum().backward()
    return time.perf_counter() - start


def measure(B, T, D, num_heads, causal, repeats) -> tuple[float, float, float]:
    """Median seconds of ours and theirs, and the largest difference between the outputs."""
    torch.manual_seed(0)
    ours, theirs = pair(D, num_heads)
    x = torch.randn(B, T, D, requires_grad=True)
    mask = torch.ones(T, T, dtype=torch.bool).tril() if causal else None
    forbidden = None if mask is None else ~mask
    calls = (
        lambda x: ours(x, x, x, mask),
        lambda x: theirs(x, x, x, attn_mask=forbidden, average_attn_weights=False),
    )
    apart = (calls[0](x)[0] - calls[1](x)[0]).abs().max().item()
    times: tuple[list, list] = ([], [])
    for repeat in range(repeats + 3):
        for call, found in zip(calls, times):
            taken = seconds(call, x)
            if repeat >= 3:  # the first ones warm up
                found.append(taken)
    return statistics.median(times[0]), statistics.median(times[1]), apart


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=40)
    repeats = parser.parse_args().repeats
    worst = 0.0
    for name, size in SIZES.items():
        ours, theirs, apart = measure(*size, repeats)
        worst = max(worst, ours / theirs)
        print(
            f"{name:<22} ours {1000 * ours:7.2f} ms, torch {1000 * theirs:7.2f} ms, "
            f"ratio {ours / theirs:.2f}, outputs differ by {apart:.1e}"
        )
    print(f"largest ratio {worst:.2f} (at most {LIMIT})")
    raise SystemExit(worst > LIMIT)


if __name__ == "__main__":
    main()
