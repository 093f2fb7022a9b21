"""The browser fixtures, for the tests in this folder."""

from tests.browser import browser, classic_notebook, jupyter_lab, screenshots  # noqa: F401
