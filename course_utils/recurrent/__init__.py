"""Encoder and decoder with recurrent networks, with and without attention (notebooks 02 and 03).

Notebook 02 trains them on strings and looks at the bottleneck. Notebook 03 uses `reversal` to turn
strings around.
"""

from course_utils import offer

__all__, __getattr__ = offer(
    __name__,
    {
        "seq2seq": ["Encoded", "answer", "every_step"],
        "bottleneck": [
            "accuracy",
            "alignment",
            "gradient_by_step",
            "load_measured",
            "load_steps",
            "probe_bottleneck",
            "stored_probes",
            "train",
        ],
        "capacity": ["bound", "keep_the_first", "load_channel"],
        "channel": ["channel_point"],
    },
)
