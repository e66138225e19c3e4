"""A recorded impact as the identification sees it, and positions between samples."""

import numpy as np
import pytest

from impact_aware.contact.geometry import Contact
from impact_aware.estimation import trial_from_recording
from impact_aware.estimation.estimate import position_at
from impact_aware.impact.predictor import predict
from impact_aware.robot import RobotModel

TIMES = np.arange(0.0, 0.5, 1e-3)
IMPACT = 0.2


@pytest.fixture(scope="module")
def case():
    robot = RobotModel.from_profile("kuka_lwr4")
    q = np.array(robot.home)
    contact = Contact(robot.tool_frame, [0.0, 0.0, 1.0], friction=0.2, radius=robot.tool_radius)
    before = np.linalg.pinv(robot.frame_jacobian(q)) @ np.array([0.1, 0.0, -0.15, 0.0, 0.0, 0.0])
    after = predict(robot, q, before, contact).velocity_after
    since = (TIMES - IMPACT)[:, None]
    positions = q + np.where(since < 0.0, before * since, after * since)
    positions += 1e-6 * np.random.default_rng(0).standard_normal(positions.shape)
    return robot, q, contact, before, after, positions


def test_a_recording_becomes_a_trial(case):
    _, q, contact, before, after, positions = case
    trial = trial_from_recording(TIMES, positions, IMPACT, contact, estimator="parabola")
    # A micro-radian of noise through windows of 50 ms before and 200 ms after.
    np.testing.assert_allclose(trial.q, q, atol=1e-5)
    np.testing.assert_allclose(trial.velocity_after, after, atol=1e-3)
    np.testing.assert_allclose(trial.velocity_before, before, atol=1e-3)
    # Noise this small makes no velocity better known than the impact map is good.
    np.testing.assert_array_equal(trial.standard_error, np.full(7, 1e-3))
    assert np.all((trial.before_error > 0.0) & (trial.before_error < 1e-3))


def test_positions_between_samples_lie_on_the_line():
    times = [1.0, 2.0, 4.0]
    positions = [[0.0, 5.0], [10.0, np.nan], [40.0, -1.0]]
    # The sample with a gap is left out as a whole: from 0 to 40 in three seconds, from 5 to -1.
    np.testing.assert_allclose(position_at(times, positions, 2.5), [20.0, 2.0])
    np.testing.assert_allclose(position_at(times, positions, 0.0), [0.0, 5.0])
