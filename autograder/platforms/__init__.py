"""Grading where a platform runs the grader: Gradescope, JupyterHub, containers."""
