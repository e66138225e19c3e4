"""What a predicted joint velocity means for an arm's tool and for the joint of its null-space task."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.reference import ArmAfterImpact
from impact_aware.robot import RobotModel


def arm_after_impact(
    robot: RobotModel, base: pin.SE3, null_space_joint: int, q: Array, velocity_after: Array
) -> ArmAfterImpact:
    """The tool's angular velocity, in the common frame, and the null-space joint's velocity just after an impact.

    Nothing is known where the prediction is not finite or says what no impact leaves.

    Args:
        robot: The arm's model.
        base: Pose of its base in the common frame.
        null_space_joint: Index of the joint that the null-space task holds, -1 for none.
        q: (n,) Joint positions at the impact, rad.
        velocity_after: (n,) Predicted joint velocities, rad/s.
    """
    turning = base.rotation @ (robot.frame_jacobian(q)[3:] @ velocity_after)
    joint = float(velocity_after[null_space_joint]) if null_space_joint >= 0 else 0.0
    found = ArmAfterImpact(np.asarray(turning), joint)
    try:
        found.check()
    except InvalidInputError:
        return ArmAfterImpact()
    return found
