"""The comparison procedure of Aouaj 2021 on a recording whose jump is the impact map's own."""

import numpy as np
import pytest

from impact_aware.contact.geometry import Contact, contact_jacobian
from impact_aware.estimation import compare, trial_from_recording
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


def test_the_maps_own_jump_has_no_error(case):
    robot, q, contact, before, after, positions = case
    found = compare(robot, TIMES, positions, IMPACT, contact, estimator="parabola")
    # A micro-radian of noise through windows of 50 ms before and 200 ms after.
    np.testing.assert_allclose(found.q, q, atol=1e-5)
    np.testing.assert_allclose(found.estimate.velocity_before, before, atol=1e-3)
    np.testing.assert_allclose(found.prediction.velocity_after, after, atol=2e-3)
    assert np.max(found.joint_error) < 2e-3
    assert found.jump_relative_error < 0.02
    np.testing.assert_allclose(found.contact_velocity_estimated, contact_jacobian(robot, q, contact) @ after, atol=1e-3)
    assert np.max(found.contact_error) < 1e-3
    assert np.all(found.joint_relative_error <= 2.0)


def test_the_wrong_inertia_shows_as_an_error(case):
    robot, _, contact, _, _, positions = case
    right, wrong = (
        compare(robot, TIMES, positions, IMPACT, contact, estimator="parabola", inertia=inertia)
        for inertia in ("M+B_theta", "M+B_rho")
    )
    assert wrong.jump_relative_error > 5 * right.jump_relative_error


def test_a_recording_becomes_a_trial(case):
    robot, q, contact, before, after, positions = case
    trial = trial_from_recording(TIMES, positions, IMPACT, contact, estimator="parabola")
    np.testing.assert_allclose(trial.velocity_after, after, atol=1e-3)
    np.testing.assert_allclose(trial.velocity_before, before, atol=1e-3)
    assert np.all(trial.standard_error >= 1e-3)
