"""How long the playground takes from a pointer event to the painted frame while dragging.

Debian's chromium without a window, 1300 by 900 pixels. The query is dragged in circles, a few
hundred moves in each of three settings. One frame at 60 Hz is 16.7 ms.
Run: python benchmarks/playground_latency.py
"""

import math
import os
import statistics
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import course_utils.playground

CHROMIUM = "/usr/bin/chromium"
ADDRESS = Path(course_utils.playground.__file__).with_name("playground.html").as_uri()
MOVES = 300
FRAME_MS = 1000 / 60
SETTINGS = {
    "one head": {},
    "two heads, noise": {"heads": 2, "noise": 0.1},
    "two heads, noise, net": {"heads": 2, "noise": 0.1, "net": True},
}

# An event carries the time at which the browser received it. A message that is sent from an
# animation frame arrives after the browser has painted that frame.
WATCH = """() => {
    window.work = []
    const playground = attentionPlayground.instances[0], draw = playground.draw
    playground.draw = function () {
        const start = performance.now()
        draw.call(playground)
        window.work.push(performance.now() - start)
    }
    window.addEventListener('pointermove', event => requestAnimationFrame(() => {
        const channel = new MessageChannel()
        channel.port1.onmessage = () => window.painted?.(performance.now() - event.timeStamp)
        channel.port2.postMessage(null)
    }), true)
}"""


def drag(page: Page, setting: dict) -> tuple[list[float], list[float]]:
    """Milliseconds to the painted frame, and of our own work in it, for each move."""
    page.evaluate("setting => attentionPlayground.instances[0].set(setting)", setting)
    box = page.locator('[aria-label^="Query"]').first.bounding_box()
    paper = page.locator('[data-plane="keys"]').bounding_box()
    middle = paper["x"] + paper["width"] / 2, paper["y"] + paper["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(*middle)
    page.evaluate("() => { window.work.length = 0 }")
    spent = []
    for move in range(MOVES):
        page.evaluate("() => { window.frame = new Promise(done => { window.painted = done }) }")
        angle, radius = move / 15, 40 + move / 3
        page.mouse.move(middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle))
        spent.append(page.evaluate("() => window.frame"))
    page.mouse.up()
    work = page.evaluate("() => window.work")
    if len(work) < MOVES:
        raise RuntimeError("Some moves drew nothing, so they were not measured.")
    return spent, work


def main() -> int:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        page.goto(ADDRESS)
        page.evaluate(WATCH)
        busy = os.getloadavg()[0] / (os.cpu_count() or 1)
        print(f"{MOVES} moves each; one frame is {FRAME_MS:.1f} ms; load {busy:.1f} per core")
        for name, setting in SETTINGS.items():
            spent, work = drag(page, setting)
            median = statistics.median(spent)
            print(
                f"{name:22} event to painted frame: median {median:5.1f} ms "
                f"({median / FRAME_MS:.2f} frames), worst {max(spent):5.1f} ms; "
                f"our work: median {statistics.median(work):4.2f} ms, worst {max(work):4.2f} ms"
            )
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
