"""Grading on platforms: Gradescope, JupyterHub, containers."""
