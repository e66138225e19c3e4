"""The controllers of single-impact studies carry the arm, press as told and follow their line."""

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.experiments.arm_controllers import PressingForce, StraightLine
from impact_aware.robot import RobotModel


@pytest.fixture(scope="module")
def panda():
    return RobotModel.from_profile("panda")


def test_pressing_adds_the_torque_of_its_force_to_the_compensation(panda):
    q, dq = panda.home, np.full(7, 0.3)
    force = np.array([3.0, -2.0, -20.0])
    torque = PressingForce(panda, force)(0.0, q, dq)
    np.testing.assert_allclose(torque - panda.bias(q, dq), panda.frame_jacobian(q)[:3].T @ force, atol=1e-12)
    np.testing.assert_allclose(PressingForce(panda, coriolis=False)(0.0, q, dq), panda.gravity(q), atol=1e-12)


def test_on_its_line_the_impedance_only_compensates(panda):
    q = panda.home
    velocity = np.array([0.1, 0.0, -0.1])
    dq = np.linalg.pinv(panda.frame_jacobian(q)[:3]) @ velocity
    line = StraightLine(panda, panda.placement(q).translation - 0.2 * velocity, velocity)
    np.testing.assert_allclose(line(0.2, q, dq), panda.bias(q, dq), atol=1e-9)
    behind = line(0.3, q, dq) - panda.bias(q, dq)
    pull = panda.frame_jacobian(q)[:3].T @ (1000.0 * 0.1 * velocity)
    np.testing.assert_allclose(behind, pull, atol=1e-9)


def test_a_force_that_is_no_vector_is_refused(panda):
    with pytest.raises(InvalidInputError, match="force"):
        PressingForce(panda, [1.0, 2.0])
