"""Grading: from a notebook that a student handed in to verdicts in nbgrader's gradebook."""
