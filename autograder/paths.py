"""Where the parts of the course are in this installation."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "autograder" / "source"
NOTEBOOKS = ROOT / "notebooks"
MUTANTS = ROOT / "autograder" / "mutants"
