"""Mouse, touch and keyboard; and what a screen reader is told."""

import pytest

from tests.playground.using import begin, centre, live, put, state, wait_for_live

pytestmark = pytest.mark.browser


def focused(page) -> str:
    return page.evaluate(
        """() => {
            const at = attentionPlayground.instances[0].root.activeElement
            return at ? at.getAttribute('aria-label') ?? at.textContent.trim() : ''
        }"""
    )


def tab_to(page, name: str, most: int = 40) -> list[str]:
    """Press Tab until something with this name has the focus; the names passed on the way."""
    passed = []
    while focused(page) != name:
        assert len(passed) < most, f"{name!r} was not reached: {passed}"
        page.keyboard.press("Tab")
        passed.append(focused(page))
    return passed


def test_the_mouse_drags_the_query_and_the_output_follows(playground):
    before = playground.evaluate("attentionPlayground.instances[0].result().output")
    x, y = centre(playground, "Query")
    playground.mouse.move(x, y)
    playground.mouse.down()
    playground.mouse.move(x - 120, y + 40, steps=5)
    playground.mouse.up()
    query = state(playground)["queries"][0]
    assert query[0] < 0 and query[1] < 1
    assert playground.evaluate("attentionPlayground.instances[0].result().output") != before


def test_the_ring_of_the_query_invites_until_something_has_been_moved(playground):
    host = playground.locator(".attention-playground")
    assert host.get_attribute("data-fresh") == ""
    playground.locator('[aria-label="Query"]').press("ArrowUp")
    assert host.get_attribute("data-fresh") is None


def test_a_point_follows_the_pointer_without_a_jump_and_stays_on_the_paper(playground):
    x, y = centre(playground, "Value 2")
    playground.mouse.move(x + 8, y)
    playground.mouse.down()
    playground.mouse.move(x + 8, y + 60)
    assert centre(playground, "Value 2") == pytest.approx((x, y + 60), abs=1)
    playground.mouse.move(x + 3000, y)
    playground.mouse.up()
    assert state(playground)["values"][1][0] == 3.6


def test_a_click_on_a_key_masks_it_and_another_gives_it_back(playground):
    playground.mouse.click(*centre(playground, "Key 2"))
    assert state(playground)["blocked"] == [False, True, False, False]
    assert playground.evaluate("attentionPlayground.instances[0].result().heads[0].weights[1]") == 0
    playground.mouse.click(*centre(playground, "Key 2"))
    assert not any(state(playground)["blocked"])


def test_the_last_key_can_not_be_masked(playground):
    for key in (1, 2, 3, 4):
        playground.click(f'input[aria-label="Mask key {key}"]')
    assert state(playground)["blocked"] == [True, True, True, False]
    assert not playground.locator('input[aria-label="Mask key 4"]').is_checked()
    wait_for_live(playground, "At least one key must stay.")


def test_a_challenge_is_solved_with_the_keyboard_alone(playground):
    tab_to(playground, "Challenge 1: Copy")
    playground.keyboard.press("Enter")
    tab_to(playground, "Query")
    for key, times in (("Shift+ArrowLeft", 9), ("ArrowLeft", 4)):
        for _ in range(times):
            playground.keyboard.press(key)
    assert playground.locator("[data-part=insight]").is_hidden()
    for key, times in (("Shift+ArrowDown", 3), ("ArrowDown", 4)):
        for _ in range(times):
            playground.keyboard.press(key)
    assert state(playground)["queries"][0] == [-3.4, -0.9]
    assert playground.locator("[data-part=insight]").is_visible()
    wait_for_live(playground, "Solved. The direction of the query decides")


def test_tab_goes_from_challenges_to_query_keys_masks_values_and_settings(playground):
    passed = tab_to(playground, "Value 4")
    wanted = ["Challenge 6: Noise", "Query", *(f"Key {i}" for i in (1, 2, 3, 4))]
    wanted += [*(f"Mask key {i}" for i in (1, 2, 3, 4)), "Value 1", "Value 2", "Value 3", "Value 4"]
    assert passed[-len(wanted) :] == wanted


def test_space_masks_the_key_in_focus_and_plus_makes_an_arrow_longer(playground):
    tab_to(playground, "Query")
    playground.keyboard.press("+")
    x, y = state(playground)["queries"][0]
    assert (x * x + y * y) ** 0.5 == pytest.approx(3.25**0.5 + 0.2, abs=0.01)
    assert x / y == pytest.approx(1.5, abs=0.02)
    tab_to(playground, "Key 1")
    playground.keyboard.press("Space")
    assert state(playground)["blocked"][0]


def test_what_a_challenge_fixes_can_be_neither_dragged_nor_focused(playground):
    begin(playground, "copy")
    x, y = centre(playground, "Key 1")
    playground.mouse.move(x, y)
    playground.mouse.down()
    playground.mouse.move(x - 90, y)
    playground.mouse.up()
    assert state(playground)["keys"][0] == [1.9, 0.5]
    assert playground.locator('circle[aria-label^="Key 1"]').get_attribute("tabindex") is None
    assert playground.locator('input[data-set="temperature"]').is_disabled()


def touch(client, kind: str, *points: tuple[float, float]) -> None:
    client.send(
        "Input.dispatchTouchEvent",
        {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]},
    )


def test_a_finger_drags_the_query_without_scrolling_and_a_tap_masks_a_key(open_playground):
    page = open_playground(width=400, height=800, has_touch=True, is_mobile=True)
    page.locator('[data-plane="keys"]').scroll_into_view_if_needed()
    scrolled = page.evaluate("scrollY")
    x, y = centre(page, "Query")
    client = page.context.new_cdp_session(page)
    touch(client, "touchStart", (x, y))
    for step in range(1, 9):
        touch(client, "touchMove", (x - 8 * step, y + 6 * step))
    touch(client, "touchEnd")
    query = state(page)["queries"][0]
    assert query[0] < 0.5 and query[1] < 0.5
    assert page.evaluate("scrollY") == scrolled
    page.touchscreen.tap(*centre(page, "Key 3"))
    assert state(page)["blocked"] == [False, False, True, False]


def test_a_challenge_is_solved_by_dragging_only_when_one_lets_go(playground):
    begin(playground, "copy")
    x, y = centre(playground, "Query")
    unit = playground.evaluate("attentionPlayground.instances[0].planes.keys.unit")
    playground.mouse.move(x, y)
    playground.mouse.down()
    playground.mouse.move(x - 4.9 * unit, y + 1.9 * unit, steps=4)
    assert playground.locator("[data-part=insight]").is_hidden()
    assert playground.locator("svg .star.on").count() == 1
    playground.mouse.up()
    assert playground.locator("[data-part=insight]").is_visible()
    playground.click("button:text-is('Next challenge')")
    assert playground.locator("[data-challenge=average]").get_attribute("aria-pressed") == "true"


def test_what_changes_is_told_to_a_screen_reader(playground):
    assert live(playground) == ""
    tab_to(playground, "Query")
    playground.keyboard.press("ArrowUp")
    wait_for_live(playground, "Weights: key 1")
    first = live(playground)
    playground.keyboard.press("Shift+ArrowLeft")
    playground.wait_for_function(
        "first => attentionPlayground.instances[0].parts.live.textContent !== first", arg=first
    )
    assert "key 4" in live(playground) and live(playground).startswith("Output ")
    assert playground.locator("[data-part=live]").get_attribute("aria-live") == "polite"


def test_a_reader_who_begins_at_once_is_told_too(open_playground):
    page = open_playground()
    page.clock.install()  # no time passes between the first picture and the first change
    page.reload()
    page.clock.run_for(100)
    put(page, temperature=2)
    page.clock.run_for(1000)
    assert live(page).startswith("Output ")


def test_every_ring_has_a_role_a_name_and_a_value_in_words(playground):
    put(playground, heads=2, queries=[[-1.5, 1], [1, 1]])
    rings = playground.locator("circle.handle")
    names = [rings.nth(i).get_attribute("aria-label") for i in range(rings.count())]
    assert names[:3] == ["Query 1", "Query 2", "Key 1"] and names[-1] == "Value 4"
    assert playground.locator('[aria-label="Query 1"]').get_attribute("aria-valuetext") == (
        "minus 1.50, 1.00"
    )
    assert "weight" in playground.locator('[aria-label="Key 1"]').get_attribute("aria-valuetext")
    roles = {rings.nth(i).get_attribute("role") for i in range(rings.count())}
    assert roles == {"slider"}


def test_two_heads_are_told_apart_by_colour_and_by_line(playground):
    put(playground, heads=2)
    queries = playground.evaluate(
        """() => attentionPlayground.instances[0].keysPicture.queries.map(arrow =>
            [getComputedStyle(arrow.line).stroke, arrow.line.getAttribute('stroke-dasharray')])"""
    )
    assert queries[0][0] != queries[1][0] and queries[0][1] != queries[1][1]
    playground.click("input[value=concat]")
    assert len(playground.evaluate("attentionPlayground.instances[0].result().output")) == 4
    answer = playground.locator("[data-part=answer]").inner_text()
    assert "side by side = (" in answer and answer.splitlines()[-1].count(",") == 3
