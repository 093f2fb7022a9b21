"""Widgets for the course: change something, see the numbers; each also works as plain HTML."""

from .attention_editor import AttentionEditor, attention_editor
from .challenges import CHALLENGES, ChallengeResult, challenge_result
from .presets import PRESETS

__all__ = [
    "CHALLENGES",
    "PRESETS",
    "AttentionEditor",
    "ChallengeResult",
    "attention_editor",
    "challenge_result",
]
