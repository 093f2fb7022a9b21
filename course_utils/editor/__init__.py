"""What the attention editor computes: its state, presets and challenges, without any picture.

The widgets draw it (`course_utils.widgets`) and the judge measures the answers to its challenges;
the judge loads no widget.
"""
