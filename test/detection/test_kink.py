"""The kink fit recovers the instant and the velocities that a signal was made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.detection.kink import SUBDIVISIONS, fit_kink

PERIOD = 1e-3


def made_of(times, instant, jumps, contact_time=0.0, acceleration=0.0):
    positions = 0.3 + np.outer(times, [0.5, -0.2, 0.1]) + 0.5 * acceleration * times[:, None] ** 2
    late = np.maximum(times - instant, 0.0)
    if contact_time:
        late = np.where(late < contact_time, late**2 / (2 * contact_time), late - 0.5 * contact_time)
    return positions + np.outer(late, jumps)


@settings(max_examples=60)
@given(
    st.floats(-5.0, -2.0),
    st.lists(st.floats(0.05, 1.0), min_size=3, max_size=3),
    st.integers(9, 20),
    st.floats(-10.0, 10.0),
    st.floats(0.0, 4.0),
    st.integers(0, 1000),
)
def test_instants_and_contact_times_off_the_grid_are_within_the_stated_bounds(
    instant, jumps, samples, acceleration, contact_time, seed
):
    times = np.arange(1.0 - samples, 1.0) * PERIOD
    jumps = np.array(jumps) * [1, -1, 1]
    positions = made_of(times, instant * PERIOD, jumps, contact_time * PERIOD, acceleration)
    # A thousandth of the largest jump's way in a period.
    noise = 1e-3 * PERIOD * np.abs(jumps).max()
    positions += noise * np.random.default_rng(seed).standard_normal(positions.shape)
    kink = fit_kink(positions, PERIOD, -6.0 * PERIOD, np.full(3, noise))
    assert kink.time == pytest.approx(instant * PERIOD, abs=0.75 * PERIOD)
    seen = min(1.0, -instant / contact_time) if contact_time else 1.0
    error = np.abs(kink.velocity_after - kink.velocity_before - seen * jumps).max()
    assert error < 0.3 * np.abs(jumps).max()


@pytest.mark.parametrize("contact_time", [0.0, 1.0, 2.5])
def test_standard_error_covers_the_scatter(contact_time):
    rng = np.random.default_rng(4)
    times = np.arange(-14.0, 1.0) * PERIOD
    errors, claims = [], []
    for _ in range(200):
        instant = rng.uniform(-3.5, -2.5) * PERIOD
        clean = made_of(times, instant, [0.3, -0.1, 0.05], contact_time * PERIOD)
        kink = fit_kink(clean + rng.normal(0, 1e-5, clean.shape), PERIOD, -6e-3, np.full(3, 1e-5))
        errors.append(kink.time - instant)
        claims.append(kink.time_std)
    # The claim averages over all contact times, so for a single one it may be off, but not by much more than twice.
    assert np.sqrt(np.mean(np.square(errors))) < 2.2 * np.mean(claims)
    assert np.mean(claims) < 0.5 * PERIOD


def test_one_sample_after_the_impact_leaves_the_instant_open():
    times = np.arange(-10.0, 1.0) * PERIOD
    positions = np.where(times < 0.0, 0.0, 1e-4)[:, None]
    kink = fit_kink(positions, PERIOD, -4e-3, np.array([1e-6]))
    assert -PERIOD < kink.time < 0.0
    assert kink.time_std > 0.2 * PERIOD


def test_a_misfit_beyond_the_stated_noise_widens_the_error():
    rng = np.random.default_rng(8)
    times = np.arange(-12.0, 1.0) * 1e-3
    spreads = []
    for stated in (5e-5, 1e-6):
        rows = np.outer(np.maximum(times + 2.4e-3, 0.0), [0.1, -0.06]) + rng.normal(0.0, 5e-5, (13, 2))
        spreads.append(fit_kink(rows, 1e-3, -6e-3, np.full(2, stated)).time_std)
    # Much more than the quarter of a period that is always there; 13 samples tell the true noise to a third.
    assert spreads[0] > 0.5e-3
    assert spreads[1] > 0.5 * spreads[0]


def test_what_is_explained_is_the_share_of_the_misfit():
    rng = np.random.default_rng(3)
    times = np.arange(-12.0, 1.0) * PERIOD
    rows = np.outer(np.maximum(times + 3e-3, 0.0), [0.1, -0.06]) + rng.normal(0.0, 2e-5, (13, 2))
    noise = np.array([1e-5, 3e-5])
    found = fit_kink(rows, PERIOD, -6e-3, noise)
    # By NumPy: a parabola alone, and with the best ramp of any instant on the grid and any contact time.
    shape = np.stack([times**0, times, times**2], axis=1)

    def misfit(columns):
        left = rows - columns @ np.linalg.lstsq(columns, rows, rcond=None)[0]
        return float(((left / noise) ** 2).sum())

    ramps = []
    for start in np.arange(-6.0, 0.0, 1.0 / SUBDIVISIONS) * PERIOD:
        for contact in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0):
            late = np.maximum(times - start, 0.0)
            if contact:
                end = contact * PERIOD
                late = np.where(late < end, late**2 / (2.0 * end), late - 0.5 * end)
            ramps.append(late)
    best = min(misfit(np.column_stack([shape, ramp])) for ramp in ramps)
    assert found.explained == pytest.approx(1.0 - best / misfit(shape), rel=1e-9)
    assert 0.5 < found.explained < 0.99


@pytest.mark.parametrize("period", [PERIOD, 0.005])
def test_instants_and_velocities_are_in_seconds_whatever_the_period(period):
    times = np.arange(-12.0, 1.0)
    rows = 0.3 + 0.02 * times[:, None] * [1.0, -2.0] + np.maximum(times + 3.0, 0.0)[:, None] * [0.01, 0.004]
    found = fit_kink(rows, period, -6.0 * period, np.full(2, 1e-9))
    assert found.time / period == pytest.approx(-3.0, abs=1e-3)
    np.testing.assert_allclose(found.velocity_before * period, [0.02, -0.04], rtol=1e-3)
    np.testing.assert_allclose((found.velocity_after - found.velocity_before) * period, [0.01, 0.004], rtol=1e-3)
    np.testing.assert_allclose(found.position, [0.3 - 0.06, 0.3 + 0.12], atol=1e-4)
    # What no fit can remove: a quarter of a period.
    assert found.time_std / period == pytest.approx(0.25, abs=1e-3)


def test_an_instant_is_looked_for_from_the_earliest_on():
    rows = np.maximum(np.arange(-12.0, 1.0) + 4.0, 0.0)[:, None] * [0.01]
    for earliest, low, high in ((-6.0, -4.06, -3.94), (-99.0, -4.06, -3.94), (-3.0, -3.0, -2.5)):
        assert low <= fit_kink(rows, PERIOD, earliest * PERIOD, np.full(1, 1e-7)).time / PERIOD <= high


@pytest.mark.parametrize("instant", [-1.3, -2.6])
def test_a_motion_of_slow_samples_may_jerk(instant):
    """12 samples at 200 Hz are 60 ms, in which the acceleration of a real arm changes: no contact explains that."""
    times = np.arange(-12.0, 1.0) * 0.005
    jerk, jump = np.array([210.0, -120.0, 75.0]), np.array([-0.3, 0.05, 0.2])
    rows = 0.2 + np.outer(times, [0.5, -0.2, 0.3]) + np.outer(times**3 / 6.0, jerk)
    rows += np.outer(np.maximum(times - 0.005 * instant, 0.0), jump)
    rows += 5e-6 * np.random.default_rng(2).standard_normal(rows.shape)
    found = fit_kink(rows, 0.005, -0.04, np.full(3, 5e-6))
    assert found.time == pytest.approx(0.005 * instant, abs=2.0 * found.time_std)
    before = np.array([0.5, -0.2, 0.3]) + 0.5 * jerk * found.time**2
    np.testing.assert_allclose(found.velocity_before, before, atol=0.003)
    np.testing.assert_allclose(found.velocity_after - found.velocity_before, jump, atol=0.01)


def test_three_samples_stay_before_the_kink():
    rows = np.maximum(np.arange(-4.0, 1.0) + 3.5, 0.0)[:, None] * [0.01]
    assert fit_kink(rows, PERIOD, -99.0 * PERIOD, np.full(1, 1e-7)).time >= -2.0 * PERIOD


def test_the_velocity_after_is_what_has_changed_by_the_newest_sample():
    """Half of the jump: the newest sample comes when half of a contact of four periods is over."""
    periods, before, jump = np.arange(-23.0, 1.0), np.array([0.3, -0.2]), np.array([-0.5, 0.4])
    positions = 1e-3 * (np.outer(periods, before) + np.outer(np.maximum(periods + 2.0, 0.0) ** 2 / 8.0, jump))
    found = fit_kink(positions, 1e-3, -8e-3, np.full(2, 1e-9))
    np.testing.assert_allclose(found.velocity_after, before + 0.5 * jump, atol=0.01)
