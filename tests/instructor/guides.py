"""The commands in the guides, and a way to run them word by word."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# These start a server and never end, so the test asks only whether they are there.
# What one does there is tested in test_formgrader.py and tests/marking.
SERVERS = {
    "make lab": "make --dry-run lab",
    "jupyter lab": "jupyter lab --version",
    "autograder mark": "autograder mark --help",
}


def commands_in(guide: str, folder: Path = DOCS) -> list[str]:
    """The lines of a page's `sh` blocks, without the comments at their ends."""
    text = (folder / guide).read_text(encoding="utf-8")
    lines = [
        line for kind, body in BLOCK.findall(text) if kind == "sh" for line in body.split("\n")
    ]
    commands = [line.partition("  #")[0].rstrip() for line in lines]
    return [SERVERS.get(command, command) for command in commands if command]


def follow(commands: list[str], folder: Path, pythonpath: Path = ROOT) -> str:
    """Run the commands one after the other in one shell; the first that fails ends it."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(pythonpath),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "120",
    }
    script = "\n".join(["set -e", *(f"echo '+ {c.replace(chr(39), '')}'\n{c}" for c in commands)])
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout
