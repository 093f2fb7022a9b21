"""Attention with numbers that fit on a page (notebook 01).

`practice` has the matrices of the questions and fresh ones to practise on. The rest shows what
noise in the keys does to an average.
"""

from course_utils import offer

__all__, __getattr__ = offer(
    __name__,
    {
        "noisy_average": ["orthonormal", "outputs", "spread_plot"],
    },
)
