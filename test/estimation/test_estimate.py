"""The one call from recorded positions to a velocity estimate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.estimation import estimate
from impact_aware.estimation.estimate import AnteImpactSettings
from impact_aware.estimation.polynomial import PolynomialEstimator
from impact_aware.estimation.registry import DEFAULT_ESTIMATOR, ESTIMATORS

TIMES = np.arange(0.0, 0.5, 1e-3)
IMPACT = 0.2
BEFORE, AFTER = np.array([0.4, -0.2]), np.array([0.1, 0.3])


def recording(noise=0.0, amplitude=0.0, frequency=18.0, seed=0):
    since = TIMES - IMPACT
    positions = np.where(since[:, None] < 0, BEFORE * since[:, None], AFTER * since[:, None])
    late = np.clip(since, 0.0, None)
    shape = np.exp(-25 * late) * np.sin(2 * np.pi * frequency * late) / (2 * np.pi * frequency)
    positions = positions + amplitude * shape[:, None] * np.array([1.0, -0.7])
    return positions + noise * np.random.default_rng(seed).standard_normal(positions.shape)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_every_estimator_finds_a_clean_jump(method):
    found = estimate(TIMES, recording(noise=1e-6), IMPACT, method=method)
    # A micro-radian of noise over 0.1 s and more.
    np.testing.assert_allclose(found.velocity_after, AFTER, atol=2e-3)
    np.testing.assert_allclose(found.velocity_before, BEFORE, atol=2e-3)
    np.testing.assert_allclose(found.jump, AFTER - BEFORE, atol=4e-3)
    assert found.window[0] >= IMPACT
    assert found.method == method


@pytest.mark.parametrize("method", ["parabola", "cubic", "both_sides"])
def test_samples_after_the_impact_that_nearly_coincide_determine_no_velocity(method):
    since = TIMES - IMPACT
    times = np.where(since < 0.0, since, 1e-9 + 1e-11 * np.arange(len(since)))
    with pytest.raises(InvalidInputError, match="that determine them|some farther away"):
        estimate(times, recording(noise=1e-6), 0.0, method=method)


@pytest.mark.parametrize("method", [DEFAULT_ESTIMATOR, "one_mode_each", "two_modes", "both_sides"])
def test_a_damped_oscillation_that_spoils_the_cubic_does_little_to_the_others(method):
    positions = recording(noise=1e-5, amplitude=0.2)
    cubic = estimate(TIMES, positions, IMPACT, method="cubic")
    chosen = estimate(TIMES, positions, IMPACT, method=method)
    worst = np.max(np.abs(chosen.velocity_after - AFTER))
    assert worst < 0.5 * np.max(np.abs(cubic.velocity_after - AFTER))
    # A tenth of the oscillation's amplitude.
    assert worst < 0.02


@pytest.mark.parametrize("method", ["parabola", "one_mode_each", "both_sides"])
def test_late_impact_times_up_to_five_milliseconds_do_little(method):
    positions = recording(noise=1e-5, amplitude=0.05)
    # A model of both sides looks for the instant as far as its standard error reaches.
    error = 5e-3 if method == "both_sides" else 0.0
    on_time = estimate(TIMES, positions, IMPACT, method=method, impact_time_error=error)
    late = estimate(TIMES, positions, IMPACT + 5e-3, method=method, impact_time_error=error)
    # A tenth of the oscillation's velocity amplitude is twice what the phase shift of 5 ms does to these fits.
    np.testing.assert_allclose(late.velocity_after, on_time.velocity_after, atol=0.015)
    # The guard keeps the velocity before untouched: both see only samples before the impact.
    np.testing.assert_allclose(late.velocity_before, BEFORE, atol=2e-3)


@settings(max_examples=20)
@given(shift=st.floats(-100.0, 100.0), offset=st.floats(-3.0, 3.0), scale=st.floats(0.1, 10.0))
def test_estimates_do_not_depend_on_the_clock_or_the_zero_and_scale_with_the_unit(shift, offset, scale):
    positions = recording(noise=1e-5)
    plain = estimate(TIMES, positions, IMPACT, method="cubic")
    moved = estimate(TIMES + shift, scale * positions + offset, IMPACT + shift, method="cubic")
    # Times of order 100 s are rounded to 1e-14 s, positions of order 10 to 1e-15, over a window of 0.1 s.
    np.testing.assert_allclose(moved.velocity_after, scale * plain.velocity_after, atol=1e-9 * scale + 1e-10)
    np.testing.assert_allclose(moved.standard_error, scale * plain.standard_error, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_a_short_record_still_gives_an_estimate(method):
    keep = TIMES < IMPACT + 0.08
    found = estimate(TIMES[keep], recording(noise=1e-6)[keep], IMPACT, method=method)
    np.testing.assert_allclose(found.velocity_after, AFTER, atol=0.01)


def test_lost_samples_and_nan_are_left_out():
    rng = np.random.default_rng(1)
    positions = recording()
    positions[rng.integers(0, TIMES.size, 60), 0] = np.nan
    found = estimate(TIMES, positions, IMPACT, method="parabola")
    np.testing.assert_allclose(found.velocity_after, AFTER, atol=1e-8)


def test_irregular_sampling_is_fine():
    rng = np.random.default_rng(3)
    times = np.sort(rng.uniform(0.0, 0.5, 400))
    since = times[:, None] - IMPACT
    found = estimate(times, np.where(since < 0, BEFORE * since, AFTER * since), IMPACT, method="two_modes")
    np.testing.assert_allclose(found.velocity_after, AFTER, atol=1e-6)


def test_one_direction_may_come_as_a_vector():
    found = estimate(TIMES, recording()[:, 0], IMPACT, method="cubic")
    assert found.velocity_after.shape == (1,)


def test_an_estimator_of_your_own_is_welcome():
    found = estimate(TIMES, recording(), IMPACT, method=PolynomialEstimator(0.05, 1))
    np.testing.assert_allclose(found.velocity_after, AFTER, atol=1e-9)
    assert found.method == "PolynomialEstimator"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"times": TIMES[::-1]}, "increasing"),
        ({"times": TIMES[:-1]}, "positions"),
        ({"times": TIMES[:, None]}, "times"),
        ({"positions": np.zeros((TIMES.size, 0))}, "positions"),
        ({"impact_time": np.nan}, "impact_time"),
        ({"impact_time": 0.7}, "after the impact"),
        ({"impact_time": 0.001}, "samples"),
        ({"impact_time": 0.499}, "samples"),
    ],
)
def test_unusable_recordings_are_refused_in_one_line(change, word):
    arguments = {"times": TIMES, "positions": recording(), "impact_time": IMPACT} | change
    with pytest.raises(InvalidInputError) as caught:
        estimate(arguments["times"], arguments["positions"], arguments["impact_time"])
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_estimators_are_refused():
    with pytest.raises(UnknownNameError, match="cubic"):
        estimate(TIMES, recording(), IMPACT, method="quartic")


def test_guard_and_window_of_the_velocity_before_are_free():
    found = estimate(TIMES, recording(), IMPACT, method="cubic", before=AnteImpactSettings(0.1, 0.0, 1))
    np.testing.assert_allclose(found.velocity_before, BEFORE, atol=1e-10)
