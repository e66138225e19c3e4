"""Harmonic motions: their closed forms against differences, and what is found in noisy positions of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from impact_aware.control.tracking_kernels import travel_of_ramp
from impact_aware.errors import InvalidInputError
from impact_aware.reference.kernels import smoothstep
from impact_aware.swing import Swing
from impact_aware.task.object_motion import fit_swing
from impact_aware.task.object_watch import ObjectLimits, ObjectWatch

OFFSET, VELOCITY, FREQUENCY = np.array([0.021, -0.012, 0.001]), np.array([0.06, 0.09, -0.002]), 4.3
SWING = Swing(OFFSET, FREQUENCY)
MIDDLE = np.array([0.45, -0.1, 0.2])


def places(times: np.ndarray, noise: float = 0.0, seed: int = 3) -> np.ndarray:
    """Of what has the offset and the velocity at 0."""
    exact = np.array([MIDDLE + OFFSET + SWING.displacement(VELOCITY, time) for time in times])
    return exact + noise * np.random.default_rng(seed).normal(size=exact.shape)


@pytest.mark.parametrize("time", [-0.7, 0.0, 0.4, 3.1])
def test_velocity_and_acceleration_are_derivatives(time):
    step = 1e-5
    moved = [SWING.displacement(VELOCITY, time + sign * step) for sign in (1, -1)]
    # Differences of the third order, 1e-10 times w^3.
    np.testing.assert_allclose((moved[0] - moved[1]) / (2 * step), SWING.velocity(VELOCITY, time), atol=1e-9)
    changed = [SWING.velocity(VELOCITY, time + sign * step) for sign in (1, -1)]
    np.testing.assert_allclose((changed[0] - changed[1]) / (2 * step), SWING.acceleration(VELOCITY, time), atol=1e-8)


def test_it_comes_back_after_a_period_and_the_middle_stays():
    np.testing.assert_allclose(SWING.displacement(VELOCITY, SWING.period), 0.0, atol=1e-15)
    np.testing.assert_allclose(SWING.velocity(VELOCITY, SWING.period), VELOCITY, atol=1e-15)
    half = SWING.displacement(VELOCITY, 0.5 * SWING.period)
    np.testing.assert_allclose(half, -2.0 * OFFSET, atol=1e-15)


def test_told_from_another_time_it_is_the_same_swing():
    later = SWING.after(VELOCITY, 0.37)
    moved = SWING.displacement(VELOCITY, 0.37) + later.displacement(SWING.velocity(VELOCITY, 0.37), 0.5)
    np.testing.assert_allclose(moved, SWING.displacement(VELOCITY, 0.87), atol=1e-15)


def test_at_its_turning_times_it_is_fastest_and_farthest_out():
    speed = [float(np.linalg.norm(SWING.velocity(VELOCITY, time))) for time in np.linspace(0.0, SWING.period, 2000)]
    found = [float(np.linalg.norm(SWING.velocity(VELOCITY, time))) for time in SWING.turning_times(VELOCITY)]
    # The grid's step of 0.7 ms costs (w dt)^2 / 2.
    assert max(found) == pytest.approx(max(speed), rel=1e-5) and min(found) == pytest.approx(min(speed), rel=1e-3)
    assert np.ptp(found[::2]) < 1e-12 and np.ptp(found[1::2]) < 1e-12


@pytest.mark.parametrize("elapsed", [0.0, 0.13, 0.41])
def test_the_travel_of_a_ramp_is_its_integral(elapsed):
    ramp = 0.5
    for axis in range(3):

        def slowed(s: float, axis: int = axis) -> float:
            return smoothstep(s, 0.0, ramp)[0] * SWING.velocity(VELOCITY, s - elapsed)[axis]

        expected = quad(slowed, elapsed, ramp, epsabs=1e-13)[0]
        found = travel_of_ramp(VELOCITY[axis], SWING.offset[axis], SWING.frequency, elapsed, ramp)
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("offset", "frequency"), [([0.6, 0, 0], 4.0), ([0.1, 0, 0], 0.0), ([np.nan, 0, 0], 4.0)])
def test_what_is_no_swing_is_refused(offset, frequency):
    with pytest.raises(InvalidInputError, match="swing"):
        Swing(np.array(offset, dtype=float), frequency)


@pytest.mark.parametrize("guess", [0.0, 4.4])
def test_exact_positions_tell_the_swing_exactly(guess):
    times = np.linspace(-2.0, 0.0, 60)
    fit = fit_swing(times + 1e9, places(times), guess)
    assert fit.frequency == pytest.approx(FREQUENCY, rel=1e-7)
    # Stamps of today's date are known to 0.2 us, in which it moves by 20 nm.
    np.testing.assert_allclose(fit.position(1e9 + 0.6), places(np.array([0.6]))[0], atol=1e-7)
    np.testing.assert_allclose(fit.velocity(1e9), VELOCITY, atol=1e-6)
    np.testing.assert_allclose(fit.swing(1e9).offset, OFFSET, atol=1e-6)
    semi_axes = np.linalg.svd(np.stack((OFFSET, VELOCITY / FREQUENCY)), compute_uv=False)
    assert fit.amplitude == pytest.approx(semi_axes[0], rel=1e-6)
    assert fit.fastest == pytest.approx(semi_axes[0] * FREQUENCY, rel=1e-6)


def test_the_stated_error_is_that_of_what_is_foretold():
    """Over 200 draws of noise: the mean square of the errors is the stated variance, to 10 % of 200 draws."""
    times, ahead = np.linspace(-1.6, 0.0, 40), 0.8
    true, errors, stated = places(np.array([ahead]))[0], [], []
    for seed in range(200):
        fit = fit_swing(times, places(times, 5e-4, seed))
        errors.append(np.linalg.norm(fit.position(ahead) - true))
        stated.append(0.5 * fit.error(ahead))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.sqrt(np.mean(np.square(stated))), rel=0.15)


def watched(times: np.ndarray, positions: np.ndarray, **limits) -> ObjectWatch:
    watch = ObjectWatch(ObjectLimits(**{"object_may_swing": True} | limits))
    for time, position in zip(times, positions, strict=True):
        watch.take(100.0 + time, position, np.eye(3), time)
    return watch


def test_a_swing_is_followed_at_its_last_pose():
    times = np.arange(-2.4, 1e-9, 0.03)
    watch = watched(times, places(times, 3e-4))
    assert watch.refusal(0.0) == ""
    np.testing.assert_allclose(watch.position, MIDDLE + OFFSET, atol=4e-4)
    # 0.3 mm of noise on 80 poses: 0.05 mm, times w.
    np.testing.assert_allclose(watch.velocity, VELOCITY, atol=1e-3)
    np.testing.assert_allclose(watch.swing.offset, OFFSET, atol=5e-4)
    values = watch.values(0.0)
    assert values["object_swing_period"] == pytest.approx(2 * np.pi / FREQUENCY, rel=0.01)
    assert 0.0 < values["object_swing_error"] < 1e-3


@pytest.mark.parametrize(
    ("times", "limits", "words"),
    [
        (np.arange(-0.4, 1e-9, 0.03), {}, "the object swings, and where it will be in 1 s is known"),
        (np.arange(-2.4, 1e-9, 0.03), {"object_swing_error": 1e-4}, "not to object_swing_error, 0.1 mm"),
        (np.arange(-2.4, 1e-9, 0.03), {"object_speed_limit": 0.1}, "the object swings, with up to more than 0.1 m/s"),
        (np.arange(-2.4, 1e-9, 0.03), {"object_spread_limit": 2e-4}, "more than 0.0002 m about a swing"),
        (np.arange(-2.4, 1e-9, 0.03), {"object_may_swing": False}, "its speed changes by more than 0.15 m/s^2"),
    ],
)
def test_a_swing_that_is_not_known_well_enough_is_refused(times, limits, words):
    assert words in watched(times, places(times, 3e-4), **limits).refusal(0.0)


@pytest.mark.parametrize("velocity", [(0.0, 0.0, 0.0), (0.09, -0.05, 0.0)])
def test_what_stands_or_moves_on_does_not_swing(velocity):
    times = np.arange(-2.4, 1e-9, 0.03)
    line = MIDDLE + times[:, None] * np.array(velocity) + 5e-4 * np.random.default_rng(2).normal(size=(len(times), 3))
    watch = watched(times, line)
    assert watch.swing is None and watch.refusal(0.0) == ""
    assert watch.velocity.any() == any(velocity)


def test_one_that_comes_to_rest_swings_no_more():
    times = np.arange(-2.4, 1e-9, 0.03)
    watch = watched(times, places(times, 3e-4))
    for step in range(1, 110):
        watch.take(100.0 + 0.03 * step, MIDDLE + OFFSET, np.eye(3), 0.03 * step)
    assert watch.swing is None and not watch.velocity.any()


def test_after_stamps_that_went_back_nothing_of_the_swing_is_left():
    times = np.arange(-2.4, 1e-9, 0.03)
    watch = watched(times, places(times, 3e-4))
    for step in range(8):
        watch.take(50.0 + 0.03 * step, MIDDLE, np.eye(3), 0.03 * step)
    assert watch.swing is None
    np.testing.assert_array_equal(watch.position, MIDDLE)
    for time, position in zip(times, places(times, 3e-4), strict=True):
        watch.take(56.0 + time, position, np.eye(3), 6.0 + time)
    np.testing.assert_allclose(watch.swing.offset, OFFSET, atol=5e-4)


def test_an_object_that_was_put_elsewhere_swings_about_another_middle():
    times, aside = np.arange(-2.4, 1e-9, 0.03), np.array([0.2, 0.1, 0.0])
    watch = watched(times, places(times, 3e-4))
    later = np.arange(0.03, 1.6, 0.03)
    for time, position in zip(later, places(later, 3e-4) + aside, strict=True):
        watch.take(100.0 + time, position, np.eye(3), time)
    assert watch.jumps == 3
    expected = MIDDLE + aside + OFFSET + SWING.displacement(VELOCITY, later[-1] + 0.8)
    np.testing.assert_allclose(watch._swing_fit().position(100.0 + later[-1] + 0.8), expected, atol=2e-3)
