"""The page's numbers are those of the course's equations in float64."""

import math

import numpy as np
import pytest

from course_utils.checks.equations import dot, softmax, weighted_sum
from tests.playground.using import put

pytestmark = pytest.mark.browser
STATES = 400

READ = """states => states.map(state => {
    const playground = attentionPlayground.instances[0]
    playground.set(state)
    return { ...playground.result(), factors: attentionPlayground.noiseFactors(state) }
})"""


def random_state(rng: np.random.Generator) -> dict:
    """Any number of keys, from tiny to huge, masked or not, hot or cold."""
    count = int(rng.integers(2, 7))
    size = 10 ** rng.uniform(-2, 3)
    blocked = rng.random(count) < 0.4
    blocked[rng.integers(count)] = False
    return {
        "heads": int(rng.integers(1, 3)),
        "combine": str(rng.choice(["mean", "concat"])),
        "queries": (size * rng.normal(size=(2, 2))).tolist(),
        "keys": rng.normal(size=(count, 2)).tolist(),
        "values": (10 ** rng.uniform(-2, 3) * rng.normal(size=(count, 2))).tolist(),
        "blocked": blocked.tolist(),
        "scale": bool(rng.random() < 0.5),
        "temperature": float(10 ** rng.uniform(-1, 1)),
        "noise": float(rng.uniform(0, 0.3)),
        "net": bool(rng.random() < 0.5),
    }


def attend(query, keys, state: dict):
    """Dot products, scores, weights and output of one head, by the equations."""
    dots = [dot(query, key) for key in keys]
    scale = math.sqrt(2) if state["scale"] else 1.0
    scores = [
        -math.inf if blocked else z / scale / state["temperature"]
        for z, blocked in zip(dots, state["blocked"])
    ]
    weights = softmax(scores)
    return dots, scores, weights, weighted_sum(weights, np.array(state["values"]))


def attention(state: dict, keys) -> np.ndarray:
    """What all heads give together."""
    outputs = [attend(query, keys, state)[3] for query in state["queries"][: state["heads"]]]
    if state["heads"] == 2 and state["combine"] == "concat":
        return np.concatenate(outputs)
    return sum(outputs) / len(outputs)


def assert_same(found, wanted) -> None:
    np.testing.assert_allclose(np.array(found, float), wanted, rtol=1e-9, atol=1e-9)


def test_scores_weights_and_outputs_equal_the_oracle_in_random_states(playground):
    rng = np.random.default_rng(21)
    states = [random_state(rng) for _ in range(STATES)]
    for state, found in zip(states, playground.evaluate(READ, states)):
        for query, head in zip(state["queries"], found["heads"]):
            dots, scores, weights, output = attend(query, state["keys"], state)
            assert_same(head["dots"], dots)
            assert_same(head["scores"], scores)
            assert_same(head["weights"], weights)
            assert_same(head["output"], output)
        assert len(found["heads"]) == state["heads"]
        assert_same(found["output"], attention(state, state["keys"]))


def test_the_cloud_equals_the_oracle_on_the_same_draws(playground):
    rng = np.random.default_rng(22)
    states = [random_state(rng) for _ in range(20)]
    for state, found in zip(states, playground.evaluate(READ, states)):
        assert len(found["cloud"]) == len(found["factors"]) == 60
        for factors, output in zip(found["factors"], found["cloud"]):
            keys = np.array(factors)[:, None] * np.array(state["keys"])
            assert_same(output, attention(state, keys))


def test_the_noise_has_mean_one_and_the_variance_of_its_slider(playground):
    factors = playground.evaluate(
        "() => attentionPlayground.noiseFactors({ keys: Array(6).fill([0, 0]), noise: 0.09 })"
    )
    assert np.mean(factors) == pytest.approx(1, abs=0.05)
    assert np.std(factors) == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("heads", [1, 2])
def test_the_table_shows_the_numbers_that_were_computed(playground, heads):
    rng = np.random.default_rng(23)
    for _ in range(10):
        state = random_state(rng) | {"heads": heads, "queries": rng.normal(size=(2, 2)).tolist()}
        put(playground, **state)
        rows = playground.locator("tbody tr")
        for head, query in enumerate(state["queries"][:heads]):
            dots, scores, weights, _ = attend(query, state["keys"], state)
            for token, (z, score, weight) in enumerate(zip(dots, scores, weights)):
                numbers = rows.nth(token).locator("b").all_inner_texts()
                shown = [n for n in numbers if n][head::heads]
                assert shown == [text(z), text(score), f"{weight:.3f}"]


def text(number: float) -> str:
    """A number as the page writes it."""
    if number == -math.inf:
        return "−∞"
    size = abs(number)
    shown = f"{number:.{0 if size >= 100 else 2}f}"
    return shown.lstrip("-") if float(shown) == 0 else shown.replace("-", "−")
