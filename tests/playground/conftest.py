"""A page with the playground on it, which notes what must not happen: errors and requests."""

from pathlib import Path

import pytest

import course_utils.playground

ADDRESS = Path(course_utils.playground.__file__).with_name("playground.html").as_uri()


@pytest.fixture
def open_playground(browser):
    """A function that opens the playground in a new window; afterwards nothing may have failed."""
    contexts, complaints = [], []

    def open_it(address: str = ADDRESS, width: int = 1300, height: int = 900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", lambda request: _note(request.url, address, complaints))
        page.goto(address)
        page.wait_for_function("() => attentionPlayground.instances.length === 1")
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []


def _note(url: str, address: str, complaints: list[str]) -> None:
    if url.split("#")[0] != address.split("#")[0] and not url.startswith("data:"):
        complaints.append(f"request: {url}")


@pytest.fixture
def playground(open_playground):
    return open_playground()
