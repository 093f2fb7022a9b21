"""The box: runs a submission behind walls and hands back bytes."""

from autograder.box.job import Job, Limits, Outcome
from autograder.box.supervisor import Box
from autograder.box.walls import BoxUnavailable, why_unavailable

__all__ = ["Box", "BoxUnavailable", "Job", "Limits", "Outcome", "why_unavailable"]
