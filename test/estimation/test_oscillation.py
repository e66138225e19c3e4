"""Affine velocity plus damped oscillation (Aouaj 2021, eq. 7; Aouaj thesis, eqs. 4.3-4.7)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError
from impact_aware.estimation.oscillation import OscillationEstimator, design, initial_guess

TIMES = np.arange(0.0, 0.25, 1e-3)


def motion(velocity, acceleration, modes, weights):
    """Positions (k, n) with modes (frequency in rad/s, decay rate in 1/s) and weights (n, 2 per mode)."""
    linear = np.column_stack([np.zeros(len(velocity)), velocity, acceleration, weights])
    return design(TIMES, np.array(modes)) @ linear.T


@settings(max_examples=15)
@given(
    frequency=st.floats(10.0, 45.0),
    decay=st.floats(8.0, 50.0),
    phase=st.floats(0.0, 2 * np.pi),
    velocity=st.floats(-0.5, 0.5),
)
def test_a_damped_oscillator_is_recovered(frequency, decay, phase, velocity):
    omega = 2 * np.pi * frequency
    weights = 0.2 / omega * np.array([[np.cos(phase), np.sin(phase)], [np.sin(phase), -0.5]])
    positions = motion([velocity, 0.1], [0.3, -0.2], [(omega, decay)], weights)
    fit = OscillationEstimator(modes=1, window=0.2).fit(TIMES, positions)
    # The search stops at relative changes of 1e-7; the error of the velocity follows with the oscillation's 0.2 rad/s.
    np.testing.assert_allclose(fit.velocity, [velocity, 0.1], atol=1e-4)
    assert fit.frequencies[0] == pytest.approx(omega, rel=1e-3)
    assert fit.decay_rates[0] == pytest.approx(decay, rel=1e-2)
    assert fit.settled


@pytest.mark.parametrize("order", [1, -1])
def test_two_modes_are_told_apart_where_one_is_not_enough(order):
    """The first of the list is the louder one."""
    modes = [(2 * np.pi * 12, 12.0), (2 * np.pi * 30, 20.0)][::order]
    weights = 1e-3 * np.array([[1.0, 0.5, -0.6, 0.2], [0.3, -0.8, 0.5, 0.4]])
    positions = motion([0.2, -0.1], [0.0, 0.5], modes, weights)
    two = OscillationEstimator(modes=2, window=0.2).fit(TIMES, positions)
    one = OscillationEstimator(modes=1, window=0.2).fit(TIMES, positions)
    np.testing.assert_allclose(two.velocity, [0.2, -0.1], atol=1e-4)
    np.testing.assert_allclose(two.frequencies / (2 * np.pi), [12, 30], rtol=1e-3)
    np.testing.assert_allclose(two.decay_rates, [12, 20], rtol=1e-2)
    assert np.max(np.abs(one.velocity - [0.2, -0.1])) > 10 * np.max(np.abs(two.velocity - [0.2, -0.1]))
    assert np.all(two.residual_rms < one.residual_rms)


def test_one_direction_beyond_what_is_searched_leaves_the_fit_unsettled():
    slow, quick = (motion([0.1], [0.0], [(2 * np.pi * 15, decay)], [[2e-3, 1e-3]]) for decay in (20.0, 400.0))
    estimator = OscillationEstimator(modes=1, window=0.15, shared=False)
    assert estimator.fit(TIMES, slow).settled and not estimator.fit(TIMES, np.hstack([slow, quick])).settled


def test_sharing_the_frequency_helps_a_direction_that_hardly_oscillates():
    """Aouaj 2021 takes frequency and decay of the loud direction for the quiet one."""
    omega, decay = 2 * np.pi * 15, 20.0
    rng = np.random.default_rng(11)
    clean = motion([0.1, 0.1], [0.0, 0.0], [(omega, decay)], np.array([[2e-3, 1e-3], [1e-4, -5e-5]]))
    errors = {True: [], False: []}
    for _ in range(8):
        noisy = clean + 2e-5 * rng.standard_normal(clean.shape)
        for shared, collected in errors.items():
            fit = OscillationEstimator(modes=1, window=0.15, shared=shared).fit(TIMES, noisy)
            collected.append(fit.velocity[1] - 0.1)
    assert np.std(errors[True]) < np.std(errors[False])


def test_standard_error_covers_the_scatter_and_counts_the_frequencys():
    omega, decay = 2 * np.pi * 12, 25.0
    rng = np.random.default_rng(4)
    clean = motion([0.1, -0.2], [0.0, 0.0], [(omega, decay)], 2e-3 * np.array([[1.0, 0.4], [0.5, -1.0]]))
    estimator = OscillationEstimator(modes=1, window=0.15)
    fits = [estimator.fit(TIMES, clean + 5e-5 * rng.standard_normal(clean.shape)) for _ in range(20)]
    scaled = np.array([(fit.velocity - [0.1, -0.2]) / fit.standard_error for fit in fits])
    # 40 figures: their root mean square scatters by 11 %, and each error's own estimate by about 20 %.
    assert 0.6 < np.sqrt(np.mean(scaled**2)) < 1.5


def test_initial_guess_follows_the_recipe_of_thesis_004():
    omega = 2 * np.pi * 20
    velocity = 0.3 + 0.5 * TIMES + 0.1 * np.cos(omega * TIMES)
    guess = initial_guess(TIMES, velocity)
    # Ten zero crossings in 0.25 s, one may fall off each end.
    assert guess[0] == pytest.approx(omega, rel=0.2)
    # 0.01 per ms.
    assert guess[1] == 10.0


def test_a_motion_without_oscillation_keeps_its_velocity():
    rng = np.random.default_rng(8)
    positions = (0.3 * TIMES - 0.2 * TIMES**2)[:, None] + 1e-5 * rng.standard_normal((TIMES.size, 1))
    fit = OscillationEstimator(window=0.2).fit(TIMES, positions)
    assert abs(fit.velocity[0] - 0.3) < 4 * fit.standard_error[0] + 1e-3


def test_a_constant_position_gives_zero_velocity():
    fit = OscillationEstimator().fit(TIMES, np.full((TIMES.size, 2), 1.5))
    # Rounding of 1.5 rad over 0.15 s.
    np.testing.assert_allclose(fit.velocity, 0.0, atol=1e-10)


@pytest.mark.parametrize("options", [{"modes": 0}, {"window": 0.0}])
def test_impossible_settings_are_refused(options):
    with pytest.raises(InvalidInputError):
        OscillationEstimator(**options)
