"""Masks, heads and the training of a transformer (notebooks 05 to 07).

Notebooks 05 to 07 use `check_mask`, notebook 07 uses `Sizes`, and notebook 06 uses the rest. `suspects`
holds the record of six faulty models.
"""

from course_utils import offer

__all__, __getattr__ = offer(
    __name__,
    {
        "comparisons": ["as_pytorchs", "gradient_sizes"],
        "masks": ["check_mask"],
        "multi_head": ["MultiHeadAttention", "in_torchs_names", "output_changed", "recording"],
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
