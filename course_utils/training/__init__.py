"""The training loop, with history, checkpoints and seeds (notebooks 02 to 07)."""

from course_utils import offer

__all__, __getattr__ = offer(
    __name__,
    {
        "loop": ["fit", "seed_everything"],
    },
)
