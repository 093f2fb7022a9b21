"""What a reader does with the playground, and what the page then holds."""


def state(page) -> dict:
    return page.evaluate("attentionPlayground.instances[0].get()")


def begin(page, challenge: str) -> None:
    page.click(f'[data-challenge="{challenge}"]')


def put(page, **changes) -> None:
    page.evaluate("changes => attentionPlayground.instances[0].set(changes)", changes)


def centre(page, label: str) -> tuple[float, float]:
    """Where the ring of "Query", "Key 2" or "Value 1" is, in pixels of the window."""
    box = page.locator(f'circle.handle[aria-label^="{label}"]').first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def live(page) -> str:
    return page.locator("[data-part=live]").inner_text()


def wait_for_live(page, words: str) -> None:
    page.wait_for_function(
        """words => attentionPlayground.instances[0].parts.live.textContent.includes(words)""",
        arg=words,
    )
