"""Looks at the machine that a notebook runs on, and explains what to do about anything missing."""

import importlib
import platform
import shutil
import sys
from importlib import metadata
from pathlib import Path

# What a student's notebook imports, and the oldest release the course is known to run on.
NEEDED = {
    "torch": "2.5",  # notebook 08 uses enable_gqa
    "numpy": "1.26",
    "matplotlib": "3.8",
    "ipywidgets": "7.7.1",
    "tqdm": "4.60",
    "sacrebleu": "2.3",
    "packaging": "23.0",
}


def environment_check() -> bool:
    """Print one line for each thing that the course needs; True if everything is there."""
    lines = [_python(), *(_package(name, oldest) for name, oldest in NEEDED.items())]
    lines += [_device(), _disk()]
    for fine, line in lines:
        print(f"{'✓' if fine else '✗'} {line}")
    return all(fine for fine, _ in lines)


def _python() -> tuple[bool, str]:
    version = platform.python_version()
    if sys.version_info < (3, 11):
        return False, f"Python {version} is too old: install Python 3.11 or newer."
    return True, f"Python {version}"


def _package(name: str, oldest: str) -> tuple[bool, str]:
    remedy = f'run  %pip install "{name}>={oldest}"  in a cell, then restart the kernel.'
    try:
        importlib.import_module(name)
        version = metadata.version(name)
    except ImportError as problem:
        return False, f"{name} is missing ({problem}): {remedy}"
    if _is_older(version, oldest):
        return False, f"{name} {version} is older than {oldest}: {remedy}"
    return True, f"{name} {version}"


def _is_older(version: str, oldest: str) -> bool:
    try:
        from packaging.version import Version
    except ImportError:
        return False  # without packaging no versions can be compared; its own line reports that
    return Version(version) < Version(oldest)


def _device() -> tuple[bool, str]:
    try:
        import torch
    except ImportError:
        return True, "without torch there is no device to look for"
    if torch.cuda.is_available():
        return True, f"GPU: {torch.cuda.get_device_name()}"
    if getattr(torch.backends, "mps", None) and torch.backends.mps.is_available():
        return True, "GPU: Apple (MPS)"
    return True, f"no GPU; CPU threads: {torch.get_num_threads()}, enough for the quick budget"


def _disk() -> tuple[bool, str]:
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    if free < 0.5:
        return (
            False,
            f"only {free:.1f} GB of disk space is free here: make room for half a gigabyte.",
        )
    return True, f"{free:.0f} GB of disk space free"
