"""The challenges accept what solves them, refuse what doesn't, and one can't be reached."""

import numpy as np
import pytest

from tests.playground.using import begin

pytestmark = pytest.mark.browser

# What solves each challenge, beside its start; for the unreachable point a reason.
SOLUTIONS = {
    "copy": [{"queries": [[-3.4, -0.9], [0, 0]]}, {"queries": [[-3, -1], [0, 0]]}],
    "average": [{"queries": [[1.4, 2.2], [0, 0]]}, {"queries": [[1.77, 2.78], [0, 0]]}],
    "mask": [{"blocked": [False, True, True, False]}],
    "temperature": [{"temperature": 0.5}, {"temperature": 0.52}],
    "noise": [{"heads": 2, "queries": [[3.4, 0.9], [-0.6, 3]]}],
}
FAILURES = {
    "copy": [{}, {"queries": [[-1, -0.3], [0, 0]]}, {"queries": [[3.4, 0.9], [0, 0]]}],
    "average": [{}, {"queries": [[0.5, 0.8], [0, 0]]}, {"queries": [[2.5, 1], [0, 0]]}],
    "mask": [{}, {"blocked": [True, False, False, True]}, {"blocked": [False, True, False, False]}],
    "temperature": [{}, {"temperature": 0.1}, {"temperature": 1}],
    "noise": [
        {},
        {"heads": 2, "queries": [[1.7, 2.7], [1.7, 2.7]]},
        {"heads": 2, "queries": [[3.4, 0.9], [3.4, 0.9]]},
    ],
}

JUDGE = """([id, changes, claim]) => {
    const { CHALLENGES, judge } = attentionPlayground
    const start = CHALLENGES.find(one => one.id === id).start()
    return judge(id, { ...start, ...changes }, claim)
}"""


def judged(page, challenge: str, changes: dict, claim: str | None = None) -> dict:
    return page.evaluate(JUDGE, [challenge, changes, claim])


@pytest.mark.parametrize("challenge", SOLUTIONS)
def test_solutions_are_accepted_and_everything_else_is_refused(playground, challenge):
    assert all(judged(playground, challenge, one)["solved"] for one in SOLUTIONS[challenge])
    assert not any(judged(playground, challenge, one)["solved"] for one in FAILURES[challenge])


def test_what_a_challenge_fixes_may_not_be_changed(playground):
    moved = {"values": [[2.7, -0.9]] * 4}  # the output would be right, whatever the query is
    verdict = judged(playground, "copy", moved)
    assert verdict["gap"] < 1e-9 and not verdict["solved"]


def test_no_single_head_keeps_a_steady_average(playground):
    best = playground.evaluate(
        """() => {
            let best = Infinity
            for (let x = -3.6; x <= 3.6; x += 0.1) for (let y = -3.1; y <= 3.1; y += 0.1) {
                const { CHALLENGES, judge } = attentionPlayground
                const start = CHALLENGES.find(one => one.id === 'noise').start()
                best = Math.min(best, judge('noise', { ...start, queries: [[x, y], [0, 0]] }).gap)
            }
            return best
        }"""
    )
    assert best > 0.3  # the goal is 0.2


def far_star(page) -> tuple[np.ndarray, np.ndarray]:
    star, values = page.evaluate(
        """() => {
            const challenge = attentionPlayground.CHALLENGES.find(one => one.id === 'reach')
            return [challenge.target, challenge.start().values]
        }"""
    )
    return np.array(star), np.array(values)


def test_a_line_separates_the_far_star_from_all_values(playground):
    star, values = far_star(playground)
    nearest = playground.evaluate(
        "([star, values]) => attentionPlayground.nearestInHull(star, values)",
        [star.tolist(), values.tolist()],
    )
    across = star - np.array(nearest)
    # Every value, hence every weighted average of values, is on the far side of this line.
    assert across @ star > (values @ across).max() + 1


def test_no_output_comes_closer_to_the_far_star_than_the_hull(playground):
    star, values = far_star(playground)
    rng = np.random.default_rng(5)
    tries = [
        {
            "queries": rng.normal(0, 5, (2, 2)).tolist(),
            "keys": rng.normal(0, 2, (4, 2)).tolist(),
            "temperature": float(10 ** rng.uniform(-1, 1)),
        }
        for _ in range(500)
    ]
    gaps = playground.evaluate(
        f"tries => tries.map(one => ({JUDGE})(['reach', one, null]).gap)", tries
    )
    nearest = playground.evaluate(
        "([star, values]) => attentionPlayground.nearestInHull(star, values)",
        [star.tolist(), values.tolist()],
    )
    assert min(gaps) >= np.linalg.norm(star - nearest) - 1e-9


def test_the_far_star_is_solved_by_the_right_reason_only(playground):
    begin(playground, "reach")
    for wrong in ("The query is too short.", "The keys point the wrong way."):
        playground.click(f"button:text-is('{wrong}')")
        assert playground.locator("[data-part=hint]").inner_text().startswith("Not that.")
        assert playground.locator("[data-part=insight]").is_hidden()
    playground.click("button:text-is('The output is a weighted average of the values.')")
    assert "inside the hull" in playground.locator("[data-part=insight]").inner_text()
    assert "1 of 6 solved" in playground.locator("[data-part=tally]").inner_text()
    assert (
        "closer to the star than 1.3"
        in playground.locator("[data-part=values-caption]").inner_text()
    )


def test_hull_and_nearest_point_are_right_where_they_are_known(playground):
    square = [[0, 0], [2, 0], [2, 2], [0, 2], [1, 1], [1, 0]]
    hull, inside, beside, corner, line = playground.evaluate(
        """square => {
            const { hull, nearestInHull } = attentionPlayground
            return [hull(square), nearestInHull([0.5, 1.5], square), nearestInHull([3, 1], square),
                nearestInHull([3, 4], square), nearestInHull([1, 1], [[0, 0], [2, 0]])]
        }""",
        square,
    )
    assert sorted(map(tuple, hull)) == [(0, 0), (0, 2), (2, 0), (2, 2)]
    assert (inside, beside, corner, line) == ([0.5, 1.5], [2, 1], [2, 2], [1, 0])
