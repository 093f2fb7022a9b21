"""Grading: from a student's notebook to verdicts in nbgrader's gradebook."""
