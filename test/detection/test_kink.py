"""The kink fit recovers the instant and the velocities that a signal was made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.detection.kink import fit_kink

PERIOD = 1e-3


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-4.9, -1.1),
    st.lists(st.floats(0.05, 1.0), min_size=3, max_size=3),
    st.integers(9, 20),
    st.floats(-10.0, 10.0),
)
def test_exact_signal_is_recovered(start, jumps, samples, acceleration):
    times = np.arange(1.0 - samples, 1.0) * PERIOD
    instant, jumps = start * PERIOD, np.array(jumps) * [1, -1, 1]
    positions = 0.3 + np.outer(times, [0.5, -0.2, 0.1]) + 0.5 * acceleration * times[:, None] ** 2
    positions = positions + np.outer(np.maximum(times - instant, 0.0), jumps)
    kink = fit_kink(positions, PERIOD, -6.0 * PERIOD, np.full(3, 1e-9))
    # The grid of instants has 20 per period, and between them the best one may lie a little further.
    assert kink.time == pytest.approx(instant, abs=0.06 * PERIOD)
    before = np.array([0.5, -0.2, 0.1]) + acceleration * instant
    # A shift of the instant by 0.06 periods changes a jump by its share of the samples after.
    np.testing.assert_allclose(kink.velocity_after - kink.velocity_before, jumps, atol=0.08)
    np.testing.assert_allclose(kink.velocity_before, before, atol=0.05)


def test_standard_error_covers_the_scatter():
    rng = np.random.default_rng(4)
    times = np.arange(-14.0, 1.0) * PERIOD
    errors, claims = [], []
    for _ in range(300):
        instant = rng.uniform(-3.5, -2.5) * PERIOD
        clean = np.outer(times, [0.4, 0.1]) + np.outer(np.maximum(times - instant, 0.0), [0.5, -0.2])
        kink = fit_kink(clean + rng.normal(0, 1e-5, clean.shape), PERIOD, -6e-3, np.full(2, 1e-5))
        errors.append(kink.time - instant)
        claims.append(kink.time_std)
    # 300 samples leave 4 % of statistical error; the grid of instants adds a little to the scatter.
    assert np.std(errors) == pytest.approx(np.mean(claims), rel=0.3)


def test_one_sample_after_the_impact_leaves_the_instant_open():
    times = np.arange(-10.0, 1.0) * PERIOD
    positions = np.where(times < 0.0, 0.0, 1e-4)[:, None]
    kink = fit_kink(positions, PERIOD, -4e-3, np.array([1e-6]))
    assert kink.time == pytest.approx(-0.5 * PERIOD, abs=0.05 * PERIOD)
    assert kink.time_std > 0.2 * PERIOD
