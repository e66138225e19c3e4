"""Estimates, weights and errors in numbers that are known by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from sliders import slider

from impact_aware.contact.geometry import Contact, FreeObject
from impact_aware.errors import InvalidInputError
from impact_aware.estimation import estimate
from impact_aware.estimation.estimate import AnteImpactSettings, position_at
from impact_aware.estimation.metrics import absolute_error, jump_relative_error, relative_error, relative_error_of_sum
from impact_aware.estimation.online import OnlineEstimation
from impact_aware.estimation.polynomial import fit_polynomial
from impact_aware.estimation.registry import BOTH_SIDES
from impact_aware.estimation.trial_predictions import TrialPredictions
from impact_aware.estimation.trials import ImpactTrial, trial_from_recording

PERIOD = 1e-3
TIMES = np.arange(0.0, 0.4, PERIOD)


def test_metrics_of_unlike_velocities():
    predicted, estimated, before = np.array([3.0, -1.0]), np.array([1.0, 2.0]), np.array([1.0, -2.0])
    np.testing.assert_allclose(absolute_error(predicted, estimated), [2.0, 3.0])
    # 2 |p - e| over |p| + |e|, and over |p + e|.
    np.testing.assert_allclose(relative_error(predicted, estimated), [1.0, 2.0])
    np.testing.assert_allclose(relative_error_of_sum(predicted, estimated), [1.0, 6.0])
    # Over the estimated jump (0, 4), not the predicted one (2, 1).
    assert jump_relative_error(predicted, estimated, before) == pytest.approx(np.sqrt(13.0) / 4.0)
    assert jump_relative_error(predicted, before, before) == np.inf
    # A prediction of zero is 200 % wrong, as in the tables of paper 004.
    assert (relative_error(0.0, -0.006), relative_error(0.0, 0.0)) == (2.0, 0.0)
    assert (relative_error_of_sum(0.0, 0.0), relative_error_of_sum(0.1, -0.1)) == (0.0, np.inf)
    with pytest.raises(InvalidInputError):
        absolute_error([1.0, 2.0], [1.0])


def test_polynomial_gives_velocity_acceleration_and_white_error():
    times = np.arange(200) * PERIOD
    fit = fit_polynomial(times, np.stack([1.0 + 0.3 * times + 2.0 * times**2, -0.5 * times], axis=1), 2)
    np.testing.assert_allclose(fit.velocity, [0.3, -0.5], atol=1e-10)
    np.testing.assert_allclose(fit.acceleration, [4.0, 0.0], atol=1e-8)
    assert (fit.samples, fit.parameters, fit.window) == (200, 3, (0.0, pytest.approx(0.199)))
    errors, found = [], []
    for seed in range(200):
        noisy = fit_polynomial(times, np.random.default_rng(seed).normal(0.0, 1e-4, (200, 1)), 1)
        errors.append(noisy.standard_error[0])
        found.append(noisy.velocity[0])
    # A line's slope: sigma / sqrt(sum of squared times from their mean); 200 draws know it to 5 %.
    expected = 1e-4 / np.sqrt(((times - times.mean()) ** 2).sum())
    assert np.std(found) == pytest.approx(expected, rel=0.15)
    assert np.mean(errors) == pytest.approx(expected, rel=0.25)


def test_time_error_reaches_both_velocities_through_their_slopes():
    since = TIMES - 0.2
    positions = np.where(since < 0.0, 0.4 * since - 1.5 * since**2, -0.1 * since + 2.0 * since**2)
    sure = estimate(TIMES, positions, 0.2, method="parabola")
    unsure = estimate(TIMES, positions, 0.2, method="parabola", impact_time_error=3e-3)
    np.testing.assert_allclose(unsure.standard_error, np.hypot(sure.standard_error, 4.0 * 3e-3), rtol=1e-6)
    np.testing.assert_allclose(
        unsure.velocity_before_error, np.hypot(sure.velocity_before_error, 3.0 * 3e-3), rtol=1e-6
    )
    np.testing.assert_allclose([unsure.velocity_before[0], unsure.velocity_after[0]], [0.4, -0.1], atol=1e-9)


def test_the_velocity_before_is_read_ahead_of_the_guard():
    since = TIMES - 0.2
    positions = 0.4 * since[:, None]
    # What happens within the 5 ms before the impact time does not count, what happens before that does.
    late, early = positions.copy(), positions.copy()
    late[(since > -4.5e-3) & (since < 0.0)] += 0.3
    early[(since > -6.5e-3) & (since < -5.5e-3)] += 0.3
    assert estimate(TIMES, late, 0.2).velocity_before[0] == pytest.approx(0.4, abs=1e-9)
    assert abs(estimate(TIMES, early, 0.2).velocity_before[0] - 0.4) > 1e-3
    wide = estimate(TIMES, early, 0.2, before=AnteImpactSettings(guard=0.008))
    assert wide.velocity_before[0] == pytest.approx(0.4, abs=1e-9)


def test_samples_from_the_next_impact_on_are_not_used():
    since = TIMES - 0.1
    positions = (0.2 * since + 5.0 * np.maximum(TIMES - 0.18, 0.0))[:, None]
    cut = estimate(TIMES, positions, 0.1, until=0.18)
    assert cut.velocity_after[0] == pytest.approx(0.2, abs=1e-9)
    assert (cut.samples, cut.window[1]) == (80, pytest.approx(0.179))
    assert abs(estimate(TIMES, positions, 0.1).velocity_after[0] - 0.2) > 0.1


def test_online_estimation_passes_the_time_error_on_and_ends_at_the_next_impact():
    since = TIMES - 0.1
    positions = np.where(since < 0, 0.4 * since, -0.1 * since + 2.0 * since**2)
    online = OnlineEstimation(1)
    found = []
    for time, position in zip(TIMES, positions, strict=True):
        online.add(float(time), np.array([position]))
        if abs(time - 0.103) < 1e-9:
            online.begin(5, 0.1, 3e-3)
        if abs(time - 0.183) < 1e-9:
            online.begin(6, 0.18)
        found += online.finish()
    assert [late.key for late in found] == [5, 6]
    assert found[0].estimate.window[1] < 0.18
    assert found[0].estimate.standard_error[0] == pytest.approx(4.0 * 3e-3, rel=1e-3)


def trial(restitution=0.5, obstacle=None, after=0.1, before_error=0.03):
    contact = Contact("tool", (0.0, 0.0, 1.0), restitution=restitution)
    return ImpactTrial(
        np.zeros(1), np.array([-0.4]), np.array([after]), np.array([0.04]), contact, obstacle, np.array([before_error])
    )


def test_trials_know_their_speeds_and_are_predicted_with_the_parameters_asked_for():
    found = TrialPredictions(slider(), [trial()], "frictionless")
    assert (found.approach_speed[0], found.slip_speed[0]) == (pytest.approx(0.4), 0.0)
    assert found.own_restitution[0] == pytest.approx(0.25)
    assert (found.typical_error, found.typical_jump) == (pytest.approx(0.04), pytest.approx(0.5))
    np.testing.assert_allclose(found.predict(), [[0.2]])
    np.testing.assert_allclose(found.predict(restitution=0.75), [[0.3]])
    np.testing.assert_allclose(found.residuals(restitution=0.75), [[-0.2]])
    # A ball of 5 kg: with the motor's 3 kg half the momentum goes over, with a motor of 8 kg a third of it is kept.
    ball = FreeObject(5.0, np.eye(3), np.zeros(3), [0.0, 0.0, 0.2, 0.0, 0.0, 0.0])
    hit = TrialPredictions(slider(), [trial(0.0, ball)], "frictionless")
    assert hit.approach_speed[0] == pytest.approx(0.6)
    np.testing.assert_allclose(hit.predict(), [[-0.1]], atol=1e-12)
    np.testing.assert_allclose(hit.predict(motor_inertia=np.array([8.0])), [[(10 * -0.4 + 5 * 0.2) / 15]], atol=1e-12)
    # Its velocity after, 0.1 m/s, leaves the ball, still at 0.2 m/s as it came, at -0.1 m/s.
    assert hit.own_restitution[0] == pytest.approx(-0.1 / 0.6)


def test_residuals_are_weighed_with_the_error_of_the_velocity_before():
    found = TrialPredictions(slider(), [trial()], "frictionless")
    found.weigh(restitution=0.75)
    # v+ = -0.75 v-: the residual's deviation is that of 0.04 and 0.75 times 0.03.
    expected = 0.04 / np.hypot(0.04, 0.75 * 0.03) * (0.1 - 0.3)
    np.testing.assert_allclose(found.residuals(restitution=0.75), [[expected]], rtol=1e-6)


def test_a_recording_becomes_a_trial():
    since = TIMES - 0.2
    positions = np.where(since < 0.0, -0.4 * since, 0.1 * since)[:, None] + 0.7
    positions += 1e-5 * np.random.default_rng(2).standard_normal(positions.shape)
    ball = FreeObject(1.0, np.eye(3), np.zeros(3))
    contact = Contact("tool", (0.0, 0.0, 1.0))
    made = trial_from_recording(TIMES, positions, 0.2, contact, obstacle=ball, least_error=5e-3)
    # Trials are made offline: by default with its estimator, not with the nodes' one, which `estimate` takes.
    found = estimate(TIMES, positions, 0.2, method=BOTH_SIDES)
    # Of one joint alone, a controller may be at work.
    assert abs(found.velocity_after[0] - 0.1) < 3.0 * found.standard_error[0] < 0.015
    assert made.obstacle is ball and made.contact is contact
    assert made.q[0] == pytest.approx(0.7, abs=1e-4)
    np.testing.assert_array_equal(made.velocity_before, found.velocity_before)
    np.testing.assert_array_equal(made.velocity_after, found.velocity_after)
    np.testing.assert_array_equal(made.before_error, found.velocity_before_error)
    assert found.standard_error[0] < 5e-3 and made.standard_error[0] == 5e-3
    assert trial_from_recording(TIMES, positions, 0.2, contact, least_error=0.0).standard_error == found.standard_error


def test_own_estimators_get_times_since_the_impact():
    seen = []

    def fit(times, positions):
        seen.append((times, positions))
        return fit_polynomial(times, positions, 1)

    estimate(TIMES, 3.0 * TIMES, 0.1005, method=SimpleNamespace(fit=fit))
    times, positions = seen[0]
    assert times[0] == pytest.approx(0.5e-3) and positions[0, 0] == pytest.approx(0.303)


def test_positions_between_samples_lie_on_the_line():
    times = [1.0, 2.0, 4.0]
    positions = [[0.0, 5.0], [10.0, np.nan], [40.0, -1.0]]
    # The sample with a gap is left out as a whole: from 0 to 40 in three seconds, from 5 to -1.
    np.testing.assert_allclose(position_at(times, positions, 2.5), [20.0, 2.0])
    np.testing.assert_allclose(position_at(times, positions, 0.0), [0.0, 5.0])
