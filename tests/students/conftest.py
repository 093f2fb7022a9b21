"""The browser's fixtures, for the way of a student."""

from tests.browser import browser, screenshots  # noqa: F401
