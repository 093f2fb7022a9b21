"""The browser's fixtures, for the tests of notebook 01."""

from tests.browser import browser, jupyter_lab, screenshots  # noqa: F401
