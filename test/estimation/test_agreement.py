"""The velocity after from simple fits where they agree, and from the model of both sides where they do not."""

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.estimation import AGREEMENT, BOTH_SIDES, AnteImpactSettings, estimate
from impact_aware.estimation.agreement import agreeing_fit, any_fit

BEFORE, AFTER = np.array([0.4, -0.2, 0.1]), np.array([0.1, 0.3, -0.5])
FREQUENCY = 2.0 * np.pi * np.array([30.0, 38.0, 45.0])


def recording(rate=1000.0, pull=0.0, swing=0.5, seed=0):
    """Joints that swing freely after the impact, and that a controller pulls back at a rate of `pull`, 1/s."""
    times = np.arange(-0.2, 0.3, 1.0 / rate)
    late = np.maximum(times, 0.0)[:, None]
    decay = np.exp(-22.0 * late) * np.sin(FREQUENCY * late) / FREQUENCY
    held = late if pull == 0.0 else (1.0 - np.exp(-pull * late)) / pull
    positions = np.where(times[:, None] < 0.0, BEFORE * times[:, None], AFTER * held)
    noise = 1e-5 * np.random.default_rng(seed).standard_normal(positions.shape)
    return times, positions + swing * (AFTER - BEFORE) * decay + noise


def test_a_freely_swinging_arm_is_known_to_a_hundredth_of_the_jump():
    times, positions = recording()
    found = estimate(times, positions, 0.0, method=AGREEMENT, impact_time_error=4e-4)
    jump = np.linalg.norm(AFTER - BEFORE)
    assert found.method == AGREEMENT
    assert np.linalg.norm(found.velocity_after - AFTER) < 0.01 * jump
    assert (np.abs(found.velocity_after - AFTER) < 3.0 * found.standard_error).all()
    assert np.linalg.norm(found.standard_error) < 0.05 * jump


def test_under_control_the_model_of_both_sides_takes_over():
    times, positions = recording(pull=25.0)
    found = estimate(times, positions, 0.0, method=AGREEMENT, impact_time_error=4e-4)
    assert found.method == BOTH_SIDES
    simple = any_fit(times[times >= 0.0], positions[times >= 0.0])
    off, of_simple = (np.linalg.norm(one - AFTER) for one in (found.velocity_after, simple.velocity))
    assert off < 0.2 * np.linalg.norm(AFTER - BEFORE) and off < of_simple


def test_disagreeing_fits_are_no_estimate():
    times, positions = recording(pull=25.0)
    late = times >= 0.0
    assert agreeing_fit(times[late], positions[late], BEFORE) is None
    times, positions = recording()
    assert agreeing_fit(times[late], positions[late], BEFORE) is not None


def test_the_velocity_before_is_that_of_the_samples_before():
    times, positions = recording()
    found = estimate(times, positions, 0.0, method=AGREEMENT, before=AnteImpactSettings(order=3))
    np.testing.assert_allclose(found.velocity_before, BEFORE, atol=4e-3)


def test_few_samples_before_leave_it_to_the_model_of_both_sides():
    times, positions = recording(rate=100.0)
    settings = AnteImpactSettings(order=3)
    found = estimate(times, positions, 0.004, method=AGREEMENT, impact_time_error=1e-3, before=settings)
    assert found.method == BOTH_SIDES


def test_too_few_samples_on_both_sides_are_refused():
    times, positions = recording()
    kept = (times > -0.003) & (times < 0.003)
    with pytest.raises(InvalidInputError, match="samples"):
        estimate(times[kept], positions[kept], 0.0, method=AGREEMENT)
