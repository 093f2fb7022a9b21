"""The browser fixtures, for the tests in this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.browser import (  # noqa: F401
    browser,
    classic_notebook,
    jupyter_lab,
    screenshots,
)
