"""Try again to refute a claim of the course.

    python benchmarks/refute.py                  # the claims, and the outcome of each attempt
    python benchmarks/refute.py channel-line     # run the attempt again

The claims are in course_utils/measured/claims.toml. Runs that are already in a table are not
repeated; delete their lines to repeat them.
"""

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

from course_utils.measured.claims import Claim, load_claims

ROOT = Path(__file__).parent.parent


def show(claim: Claim) -> None:
    print(f"{claim.name} ({claim.notebook})")
    print(f"  claim    {claim.sentence}")
    print(f"  runs     {claim.runs}")
    print(f"  tried    {claim.tried}")
    print(f"  came     {claim.outcome}")
    print(f"  again    {claim.refute}")


def main() -> None:
    claims = load_claims()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", choices=claims)
    options = parser.parse_args()
    if options.name is None:
        for claim in claims.values():
            show(claim)
        return
    for text in claims[options.name].refute.split(" && "):
        command = shlex.split(text)
        if command[0] == "python":
            command[0] = sys.executable
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"})
        if done.returncode:
            raise SystemExit(done.returncode)
    show(load_claims()[options.name])


if __name__ == "__main__":
    main()
