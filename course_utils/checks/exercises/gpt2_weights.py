"""from_gpt2: the parameters of GPT-2, from its own names to those of DecoderOnly."""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong, differ, same
from course_utils.checks.layer_checks import fits_everywhere
from course_utils.checks.wire import Ask

SIZES = {  # label: vocab_size, positions, D, layers
    "main": (7, 5, 4, 2),
    "many layers": (3, 2, 2, 11),
}
NAMES, PLAIN, MATRICES, FUSED = (
    "every parameter of DecoderOnly is there, and nothing else",
    "embeddings, norms and biases are copied as they are",
    "matrices are transposed",
    "the fused projection is in_proj, transposed",
)


def state(rng, vocab_size: int, positions: int, D: int, layers: int) -> dict[str, np.ndarray]:
    """Random parameters with the names and shapes of GPT-2."""
    shapes: dict[str, tuple[int, ...]] = {
        "wte.weight": (vocab_size, D),
        "wpe.weight": (positions, D),
    }
    for n in range(layers):
        shapes |= {
            f"h.{n}.ln_1.weight": (D,),
            f"h.{n}.ln_1.bias": (D,),
            f"h.{n}.attn.bias": (1, 1, positions, positions),  # its causal mask, not a bias
            f"h.{n}.attn.c_attn.weight": (D, 3 * D),
            f"h.{n}.attn.c_attn.bias": (3 * D,),
            f"h.{n}.attn.c_proj.weight": (D, D),
            f"h.{n}.attn.c_proj.bias": (D,),
            f"h.{n}.ln_2.weight": (D,),
            f"h.{n}.ln_2.bias": (D,),
            f"h.{n}.mlp.c_fc.weight": (D, 4 * D),
            f"h.{n}.mlp.c_fc.bias": (4 * D,),
            f"h.{n}.mlp.c_proj.weight": (4 * D, D),
            f"h.{n}.mlp.c_proj.bias": (D,),
        }
    shapes |= {"ln_f.weight": (D,), "ln_f.bias": (D,)}
    drawn = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    for n in range(layers):
        drawn[f"h.{n}.attn.bias"] = np.tril(np.ones((1, 1, positions, positions)))
    return drawn


def wanted_shapes(vocab_size: int, positions: int, D: int, layers: int) -> dict[str, tuple]:
    """The parameters of DecoderOnly."""
    shapes: dict[str, tuple] = {
        "tokens.weight": (vocab_size, D),
        "positions.weight": (positions, D),
    }
    for n in range(layers):
        front = f"layers.{n}."
        for name in ("norm1", "norm2"):
            shapes |= {f"{front}{name}.weight": (D,), f"{front}{name}.bias": (D,)}
        shapes |= {
            f"{front}attention.in_proj_weight": (3 * D, D),
            f"{front}attention.in_proj_bias": (3 * D,),
            f"{front}attention.out_proj.weight": (D, D),
            f"{front}attention.out_proj.bias": (D,),
            f"{front}feed_forward.0.weight": (4 * D, D),
            f"{front}feed_forward.0.bias": (4 * D,),
            f"{front}feed_forward.2.weight": (D, 4 * D),
            f"{front}feed_forward.2.bias": (D,),
        }
    return shapes | {"norm.weight": (D,), "norm.bias": (D,)}


def asks(rng: np.random.Generator) -> list[Ask]:
    return [
        Ask(label, "named_tensors", {"target": "from_gpt2", "state": state(rng, *sizes)})
        for label, sizes in SIZES.items()
    ]


def found(e: Evidence, label: str) -> dict[str, np.ndarray]:
    reply = e.reply(label)
    if reply.notes["kind"] != "dict":
        raise Wrong(f"It should return a dict of tensors, but it returns {reply.notes['kind']}.")
    return {k.removeprefix("out/"): v for k, v in reply.arrays.items() if k.startswith("out/")}


def names_fit(e: Evidence) -> None:
    for label, sizes in SIZES.items():
        got, wanted = found(e, label), wanted_shapes(*sizes)
        missing = [name for name in wanted if name not in got]
        others = [name for name in got if name not in wanted]
        if missing:
            raise Wrong(
                f"With {sizes[-1]} layers, {missing[0]} is missing ({len(missing)} in all).",
                "Print sorted(DecoderOnly(...).state_dict()) beside your names.",
            )
        if others:
            raise Wrong(
                f"{others[0]} is not a parameter of DecoderOnly.",
                "`h.0.attn.bias` is GPT-2's causal mask: leave it out. (`attn.c_attn.bias` is a bias.)",
            )


def values_fit(*ends: str, message: str, hint: str):
    """The arrays whose names end in one of `ends` are right."""

    def holds(e: Evidence) -> None:
        for label, sizes in SIZES.items():
            got, shapes = found(e, label), wanted_shapes(*sizes)
            order = list(shapes)
            for name in (n for n in order if n.endswith(ends)):
                if name not in got:
                    raise Wrong(f"{name} is missing.")
                if got[name].shape != shapes[name]:
                    raise Wrong(
                        f"{name} should have the shape {list(shapes[name])}, but it has "
                        f"{list(got[name].shape)}.",
                        hint,
                    )
                right = e.expected(label)[f"right/{order.index(name)}"]
                same(right, got[name], 1e-6, f"{name}: {message}", hint, ("row", "column"))

    return holds


def state_stays(e: Evidence) -> None:
    for label in SIZES:
        for name, array in e.options(label)["state"].items():
            if f"after/{name}" not in e.reply(label).arrays:
                raise Wrong(
                    f"Your function takes {name} out of the dict it is given.",
                    "Whoever called it still needs that dict. Read from it, and fill a new one.",
                )
            if differ(array, e.reply(label).arrays[f"after/{name}"], 0.0):
                raise Wrong(f"Your function changes {name} in the dict that it is given.")


def read(e: Evidence, label: str) -> list[np.ndarray] | None:
    """The arrays in the order of DecoderOnly's parameters; an empty one where a name is missing."""
    try:
        got = found(e, label)
    except Wrong:
        return None
    return [got.get(name, np.zeros(0)) for name in wanted_shapes(*SIZES[label])]


TELL = {
    "nothing-transposed": (
        "No matrix is transposed. GPT-2 stores matrices as [in, out], nn.Linear as [out, in].",
        "Every `c_...weight` has to be transposed.",
    ),
    "square-not-transposed": (
        "`attn.c_proj.weight` is not transposed. It is square, so its shape does not show it.",
        "Every `c_...weight` has to be transposed, and so does this one.",
    ),
    "embeddings-transposed": (
        "The embeddings are transposed too, but they are tables, not layers.",
        "Copy wte and wpe as they are.",
    ),
    "queries-and-keys-exchanged": (
        "Queries and keys are swapped in the fused projection.",
        "Both c_attn and in_proj hold queries, keys and values, in this order.",
    ),
    "norms-exchanged": (
        "ln_1 and ln_2 are swapped.",
        "ln_1 comes before the attention: norm1.",
    ),
    "projections-exchanged": (
        "`attn.c_proj.bias` and `mlp.c_proj.bias` are swapped.",
        "Both are called c_proj: look at the part of the name before it.",
    ),
}

exercise = Check(
    id="gpt2-weights",
    asks=asks,
    properties=(
        Property(NAMES, 0.75, names_fit),
        Property(
            PLAIN,
            0.75,
            values_fit(
                *("tokens.weight", "positions.weight", "norm1.weight", "norm2.weight"),
                *("norm.weight", ".bias"),
                message="the numbers are not those of GPT-2's parameter.",
                hint="Which of GPT-2's names belongs here? The table shows it.",
            ),
        ),
        Property(
            MATRICES,
            0.75,
            values_fit(
                *("out_proj.weight", "feed_forward.0.weight", "feed_forward.2.weight"),
                message="the numbers are not those of GPT-2's transposed matrix.",
                hint="GPT-2 stores [in, out], but nn.Linear needs [out, in].",
            ),
        ),
        Property(
            FUSED,
            0.5,
            values_fit(
                *("in_proj_weight", "in_proj_bias"),
                message="the numbers are not those of c_attn.",
                hint="c_attn has queries, keys and values side by side; in_proj has them one below "
                "the other. A single transpose does it.",
            ),
        ),
        Property("the given dict is unchanged", 0.25, state_stays, needs=(NAMES, MATRICES)),
    ),
    misconceptions=tuple(Misconception(name, *words) for name, words in TELL.items()),
    choices=(
        ("nothing-transposed", "square-not-transposed"),
        ("embeddings-transposed",),
        ("queries-and-keys-exchanged",),
        ("norms-exchanged",),
        ("projections-exchanged",),
    ),
    fits=fits_everywhere(read),
)
