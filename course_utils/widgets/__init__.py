"""Widgets for the course: change something, see the numbers; each also works as plain HTML."""

from course_utils.editor.challenges import CHALLENGES, ChallengeResult, challenge_result
from course_utils.editor.presets import PRESETS

from .attention_editor import AttentionEditor, attention_editor
from .attention_map import AttentionMap, attention_map, attention_map_html
from .beam_tree import BeamTree, beam_tree
from .bottleneck_explorer import BottleneckExplorer, bottleneck_explorer
from .permutation_explorer import PermutationExplorer, permutation_explorer
from .position_explorer import PositionExplorer, position_explorer
from .prediction import PredictionView, predict
from .softmax_explorer import SoftmaxExplorer, softmax_explorer

__all__ = [
    "CHALLENGES",
    "PRESETS",
    "AttentionEditor",
    "AttentionMap",
    "BeamTree",
    "BottleneckExplorer",
    "ChallengeResult",
    "PermutationExplorer",
    "PositionExplorer",
    "PredictionView",
    "SoftmaxExplorer",
    "attention_editor",
    "attention_map",
    "attention_map_html",
    "beam_tree",
    "bottleneck_explorer",
    "challenge_result",
    "permutation_explorer",
    "position_explorer",
    "predict",
    "softmax_explorer",
]
