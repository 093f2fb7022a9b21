"""Tables of what was measured for the course. README.md has the command that writes each one."""

from pathlib import Path

FOLDER = Path(__file__).parent
