"""What all tests share: one thread per process, and a reason for every test that is left out."""

import os
from functools import cache

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")

import pytest
from hypothesis import settings

import autograder.oracles  # noqa: F401 - gives the judge its oracles
from course_utils import register
from tests.browser import browser, classic_notebook, jupyter_lab, screenshots  # noqa: F401
from tools import system_packages
from tools.system_packages import BROWSER

# How long an example takes depends on the machine, and no test of ours is a timed one.
settings.register_profile("ours", deadline=None)
settings.load_profile("ours")


@cache
def _no_browser() -> str:
    absent = [package for package, loss in system_packages.missing().items() if loss == BROWSER]
    return f"needs Debian's {' and '.join(absent)}, not installed here" if absent else ""


@cache
def _no_box() -> str:
    from autograder.box import why_unavailable

    return why_unavailable() or ""


@pytest.fixture(autouse=True)
def the_courses_own_register():
    """A command that reads a class's choices leaves them in use; the next test begins without."""
    yield
    register.use(None)


@pytest.fixture(autouse=True, scope="session")
def the_newest_form_of_a_gradebook_is_asked_for_once():
    """nbgrader starts alembic for every new gradebook: two seconds of computing each time."""
    from nbgrader import api

    api.get_alembic_version = cache(api.get_alembic_version)


def pytest_sessionfinish():
    from tests.browser import close_browser

    close_browser()


def pytest_collection_modifyitems(items):
    # Files that take long come first, so that no core waits for the other at the end.
    long = {
        item.path
        for item in items
        if item.get_closest_marker("slow") or item.get_closest_marker("browser")
    }
    items.sort(key=lambda item: item.path not in long)
    for item in items:
        reasons = [
            find()
            for mark, find in (("browser", _no_browser), ("box", _no_box))
            if item.get_closest_marker(mark)
        ]
        for reason in filter(None, reasons):
            item.add_marker(pytest.mark.skip(reason=reason))
