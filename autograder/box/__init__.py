"""The box: runs a submission behind walls and hands back bytes."""

from autograder.box.job import Job, Limits, Outcome
from autograder.box.supervisor import PLOTTING, Box
from autograder.box.walls import BoxUnavailable, why_unavailable

__all__ = ["PLOTTING", "Box", "BoxUnavailable", "Job", "Limits", "Outcome", "why_unavailable"]
