"""Masks, heads and the training of a transformer (notebooks 05 and 06).

Notebook 05 uses `check_mask`. Notebook 06 uses the rest; `bugs` has three faulty models to examine.
"""

from course_utils import offer

__all__, __getattr__ = offer(
    __name__,
    {
        "masks": ["check_mask"],
        "multi_head": ["MultiHeadAttention", "recording"],
        "training": [
            "RECIPES",
            "TRANSFORMER_RESULTS",
            "make_translator",
            "pad",
            "padded_batches",
            "start_well",
            "train_translator",
            "translate",
            "warm_up",
        ],
    },
)
