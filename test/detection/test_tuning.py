"""What is learnt from a recording is what it was made of; the detector is then quiet and still finds impacts."""

import numpy as np
import pytest
from sliders import two_sliders

from impact_aware.detection import JointSample, make_detector
from impact_aware.detection.tuning import TUNABLE, measure_source, tune
from impact_aware.errors import InvalidInputError, UnknownNameError

PERIOD = 1e-3


def motion(seconds, seed, resolution=0.0, noise=0.0, acceleration=8.0):
    rng = np.random.default_rng(seed)
    times = np.arange(round(seconds / PERIOD)) * PERIOD
    columns = []
    for _ in range(3):
        rates = 2 * np.pi * rng.uniform(0.3, 3.0, 3)
        columns.append(np.sin(np.outer(times, rates) + rng.uniform(0, 6.28, 3)) @ (acceleration / 3 / rates**2))
    clean = np.array(columns).T
    positions = clean + noise * rng.standard_normal(clean.shape)
    return times, np.round(positions / resolution) * resolution if resolution else positions


@pytest.mark.parametrize(("resolution", "noise"), [(1e-5, 1e-5), (1e-4, 0.0), (0.0, 2e-5), (2 * np.pi / 2**17, 3e-5)])
def test_encoder_step_and_noise_are_measured(resolution, noise):
    quality = measure_source(*motion(20.0, 1, resolution, noise))
    assert quality.sampling_period == pytest.approx(PERIOD)
    np.testing.assert_allclose(quality.encoder_resolution, resolution, rtol=1e-3)
    # Steps are only nearly white noise of resolution / sqrt(12); more than half of that may be left over.
    np.testing.assert_allclose(quality.position_noise, noise, rtol=0.1, atol=0.2 * resolution + 1e-9)


def test_tuned_adaptive_window_is_quiet_elsewhere_and_still_sees_a_jump():
    tuning = tune("adaptive_window", *motion(60.0, 2, 1e-5, 5e-6))
    assert tuning.false_alarms_per_hour <= 0.1 + 1e-9
    assert tuning.false_alarms_bound == pytest.approx(180.0, rel=0.01)
    detector = make_detector("adaptive_window", 3, **tuning.parameters)
    times, positions = motion(60.0, 3, 1e-5, 5e-6)
    assert detector.detect(times, positions) == []
    # Slower motion than the defaults allow for leaves room for weaker impacts.
    jumped = positions + np.outer(np.maximum(times - 30.0003, 0.0), [0.1, 0.0, -0.05])
    (event,) = detector.detect(times, jumped)
    assert 30.0 < event.time_detected < 30.006


@pytest.mark.parametrize("name", ["acceleration", "torque_residual"])
def test_thresholds_lie_above_what_was_seen(name):
    times, positions = motion(12.0, 4, 1e-5)
    rng = np.random.default_rng(5)
    efforts = rng.normal(0.0, 0.2, positions.shape)
    tuning = tune(name, times, positions, None, efforts, np.zeros_like(efforts), margin=1.5)
    default = {"acceleration": 45.0, "torque_residual": 8.0}[name]
    assert tuning.parameters["threshold"] >= 1.5 * default * tuning.largest[0] * (1 - 1e-12)
    detector = make_detector(name, 3, **tuning.parameters)
    assert detector.detect(times, positions, None, efforts, np.zeros_like(efforts)) == []


def test_wrong_recordings_are_refused():
    times, positions = motion(12.0, 6)
    with pytest.raises(InvalidInputError, match="recording"):
        tune("adaptive_window", times[:500], positions[:500])
    with pytest.raises(InvalidInputError, match="signal"):
        tune("torque_residual", times, positions)
    with pytest.raises(InvalidInputError, match="robot"):
        tune("momentum_observer", times, positions)
    with pytest.raises(UnknownNameError, match=TUNABLE[0]):
        tune("fusion", times, positions)


def test_joints_that_are_quiet_one_by_one_are_so_together():
    # Both masses are pulled at in the same way at once, so that their shares add up.
    times, positions = motion(12.0, 7)
    positions = positions[:, :2]
    velocities = np.gradient(positions, PERIOD, axis=0)
    pulls = np.random.default_rng(8).normal(0.0, 1.0, len(times)).repeat(4)[: len(times), None] * [0.3, -0.2]
    efforts = np.gradient(velocities, PERIOD, axis=0) * [8.0, 5.0] + pulls
    given = (times, positions, velocities, efforts)
    tuning = tune("momentum_observer", *given, robot=two_sliders(), acceleration_error=1e-3)
    assert tuning.false_alarms_per_hour <= 0.1 + 1e-9
    detector = make_detector("momentum_observer", 2, robot=two_sliders(), **tuning.parameters)
    sizes = []
    for index in range(len(times)):
        detector.update(JointSample(*(signal[index] for signal in given)))
        sizes.append(detector.level)
    # The margin is kept by what decides, and no more is given away than the rate asks for.
    assert 0.4 < max(sizes) <= (1 + 1e-9) / 1.3
