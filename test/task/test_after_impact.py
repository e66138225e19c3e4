import numpy as np
import pinocchio as pin
import pytest

from impact_aware.robot import RobotModel
from impact_aware.task.arms import arm_after_impact

ROBOT = RobotModel.from_profile("panda")
Q = np.array([0.4, 0.1, -0.2, -2.4, -1.39, 1.48, 0.2])
AFTER = np.array([0.06, -0.59, -0.785, -0.781, -0.523, 0.818, -0.11])
BASE = pin.SE3(pin.rpy.rpyToMatrix(0.2, -0.1, 0.7), np.array([0.3, -0.2, 0.1]))


def test_the_rotation_is_that_of_the_moving_tool_in_the_common_frame():
    step = 1e-6
    ends = [BASE.rotation @ ROBOT.placement(Q + sign * step * AFTER).rotation for sign in (1.0, -1.0)]
    expected = pin.log3(ends[0] @ ends[1].T) / (2.0 * step)
    found = arm_after_impact(ROBOT, BASE, 2, Q, AFTER)
    # A difference quotient of 1e-6 rad.
    np.testing.assert_allclose(found.angular_velocity, expected, atol=1e-7)
    assert found.null_space_velocity == AFTER[2] and found.known
    assert arm_after_impact(ROBOT, BASE, -1, Q, AFTER).null_space_velocity == 0.0


@pytest.mark.parametrize("after", [np.full(7, np.nan), 20.0 * AFTER])
def test_nothing_is_known_of_what_no_impact_leaves(after):
    assert not arm_after_impact(ROBOT, BASE, 0, Q, after).known
