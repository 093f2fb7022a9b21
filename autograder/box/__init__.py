"""The box: runs a submission behind walls and hands back bytes."""

from autograder.box.choice import choose_wall, why_unavailable
from autograder.box.job import Job, Limits, Outcome
from autograder.box.supervisor import Box
from autograder.box.walls import BoxUnavailable

__all__ = ["Box", "BoxUnavailable", "Job", "Limits", "Outcome", "choose_wall", "why_unavailable"]
