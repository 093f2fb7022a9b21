"""Writes `constraints.txt`, the tested version of every package: `make pins`.

One version per package for every Python we promise, from 3.11.0 on. Versions that are already
pinned stay; `make pins UPGRADE=1` takes the newest ones.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
LOWEST = "3.11.0"
# The course was measured with this version: change it only when the figures are measured again.
TORCH = "torch==2.13.0"
# Each build of PyTorch (CPU, one for each CUDA) asks for its own versions of these.
CHOSEN_BY_TORCH = ("cuda-", "nvidia-", "triton==")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    options = parser.parse_args()
    uv = shutil.which("uv", path=Path(sys.executable).parent) or shutil.which("uv")
    if uv is None:
        sys.exit("uv is missing: run `make pins`, which installs it, or `pip install uv`.")
    with tempfile.TemporaryDirectory() as folder:
        torch = Path(folder) / "torch.txt"
        torch.write_text(TORCH + "\n")
        compiled = Path(folder) / "constraints.txt"
        if CONSTRAINTS.exists() and not options.upgrade:
            shutil.copy(CONSTRAINTS, compiled)
        command = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", LOWEST]
        command += ["--fork-strategy", "fewest", "--all-extras", "--no-header", "--no-annotate"]
        command += ["--constraint", torch, "--output-file", compiled, "pyproject.toml"]
        if subprocess.run([str(part) for part in command], cwd=ROOT).returncode:
            sys.exit("uv found no versions that work together; see its lines above.")
        lines = compiled.read_text().splitlines()
    kept = [line for line in lines if not line.startswith(CHOSEN_BY_TORCH)]
    CONSTRAINTS.write_text("\n".join(kept) + "\n")
    print(f"{CONSTRAINTS.name}: {len(kept)} packages pinned for Python {LOWEST} and newer.")


if __name__ == "__main__":
    main()
