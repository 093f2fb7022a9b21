"""The training loop and what it needs: history, checkpoints, seeds, schedules (notebooks 02 to 07).

`fit` is the only training loop of the course. Notebooks 05 and 06 call it directly, and the
experiments of the other notebooks are built on it.
"""

from course_utils import offer

__all__, __getattr__ = offer(
    __name__,
    {
        "devices": ["one_thread", "seed_everything"],
        "history": ["History"],
        "loop": ["fit"],
        "recipe": ["Recipe"],
        "schedule": ["warm_up"],
    },
)
