"""The bound holds for every acceleration that it admits, and the sharper one is sharp."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.detection.prediction_bound import detection_bound, extrapolation_weights, position_variation

PERIOD = 1e-3


@given(st.integers(2, 20), st.integers(1, 5), st.lists(st.floats(-3, 3), min_size=3, max_size=3))
@settings(max_examples=50)
def test_extrapolation_is_exact_on_parabolas(window, horizon, coefficients):
    grid = np.arange(-window, 1.0)
    weights = extrapolation_weights(window, horizon)
    # Weights of alternating sign: rounding grows with their sum and with the size of the parabola, 3 * 20^2.
    tolerance = 1e-12 * 1e3 * np.abs(weights).sum()
    assert weights @ np.polyval(coefficients, grid) == pytest.approx(np.polyval(coefficients, horizon), abs=tolerance)


def test_position_variation_is_smooth_at_its_corner_and_zero_at_zero():
    corner = 20.0 / 30000.0
    assert position_variation(0.0, 20.0, 30000.0) == 0.0
    below, above = position_variation(np.array([corner - 1e-12, corner + 1e-12]), 20.0, 30000.0)
    # Two evaluations 2e-12 s apart at a slope of j s^2 / 2 < 7e-3 rad/s.
    assert below == pytest.approx(above, abs=1e-13)
    # Its second derivative is the admitted variation of the acceleration.
    duration = np.linspace(0.0, 5e-3, 2001)
    second = np.gradient(np.gradient(position_variation(duration, 20.0, 30000.0), duration), duration)
    expected = np.minimum(20.0, 30000.0 * duration)
    inner = np.abs(duration - corner) > 2e-5
    # Central differences of a cubic on this grid are exact but for the two ends.
    np.testing.assert_allclose(second[inner][3:-3], expected[inner][3:-3], atol=1e-3)


def _simulated_error(window, horizon, variation, fine=400):
    """Prediction error for the acceleration variation(t), integrated on a fine grid."""
    step = PERIOD / fine
    instants = np.arange(-window * fine, horizon * fine) * step + 0.5 * step
    acceleration = variation(instants)
    nodes = np.append(np.arange(-window, 1.0), horizon) * PERIOD
    positions = np.maximum(nodes[:, None] - instants, 0.0) @ acceleration * step
    return positions[-1] - extrapolation_weights(window, horizon) @ positions[:-1]


@pytest.mark.parametrize(("window", "horizon"), [(2, 1), (4, 2), (12, 1), (12, 4)])
def test_sharp_bound_is_reached_but_never_passed(window, horizon):
    bound = detection_bound(window, horizon, PERIOD, 20.0, 30000.0, 0.0)
    rough = detection_bound(window, horizon, PERIOD, 20.0, 30000.0, 0.0, sharp=False)
    rng = np.random.default_rng(window)
    nodes = np.append(np.arange(-window, 1.0), horizon) * PERIOD
    coefficients = np.append(-extrapolation_weights(window, horizon), 1.0)

    def envelope(instants):
        return np.minimum(20.0, 30000.0 * np.abs(instants))

    def worst(instants):
        return envelope(instants) * np.sign(np.maximum(nodes - instants[:, None], 0.0) @ coefficients)

    # Midpoint rule on 400 points per period.
    assert _simulated_error(window, horizon, worst) == pytest.approx(bound, rel=1e-3)
    for _ in range(20):
        signs = rng.choice([-1.0, 1.0], window + horizon)
        error = _simulated_error(
            window, horizon, lambda t, s=signs: envelope(t) * s[np.floor(t / PERIOD).astype(int) + window]
        )
        assert abs(error) <= bound * (1.0 + 1e-3)
    assert bound < 0.8 * rough


@pytest.mark.parametrize("sharp", [True, False])
def test_encoder_steps_and_noise_by_hand(sharp):
    # Through three samples the next is q0 - 3 q1 + 3 q2: weights 1, 3, 3, and 1 for the sample itself.
    arguments = (2, 1, 1e-3, 20.0, 30000.0)
    plain = detection_bound(*arguments, 0.0, sharp=sharp)
    assert detection_bound(*arguments, 2e-5, sharp=sharp) - plain == pytest.approx(0.5 * 2e-5 * 8.0, rel=1e-9)
    noisy = detection_bound(*arguments, 0.0, 1e-5, sharp=sharp)
    assert noisy - plain == pytest.approx(6.0 * 1e-5 * np.sqrt(20.0), rel=1e-9)
