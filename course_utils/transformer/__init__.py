"""Masks, heads and the training of a transformer (notebooks 05 and 06).

Notebook 05 uses `check_mask`. Notebook 06 uses the rest; `suspects` has the record of six
faulty models.
Notebook 07 uses `Sizes`.
"""

from course_utils import offer

__all__, __getattr__ = offer(
    __name__,
    {
        "masks": ["check_mask"],
        "multi_head": ["MultiHeadAttention", "in_torchs_names", "recording"],
        "sizes": ["Sizes"],
        "training": [
            "RECIPES",
            "make_transformer",
            "start_well",
            "train_transformer",
            "written_by",
        ],
    },
)
