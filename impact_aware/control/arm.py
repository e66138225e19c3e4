"""One arm as the controller sees it: everything the tasks and constraints need at the current state."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import effort_kind_of


class ControlledArm:
    """Kinematics and dynamics of one arm in the common base frame, refreshed once a cycle.

    The arrays are views into memory that the next `update` overwrites.

    Attributes:
        robot: The arm's robot.
        model: Its Pinocchio model, with the base at its pose in the common frame.
        joints: Slice of this arm's joints in the arrays of the whole controller.
        effort_kind: Meaning of its measured efforts.
        unmeasured_inertia: (n,) Motor inertia whose acceleration the measured torques lack, kg m^2.
        q: (n,) Joint positions of the last update, rad.
        mass_matrix: (n, n) M + B_theta, kg m^2.
        bias: (n,) h(q, dq), N m.
        gravity: (n,) g(q), N m.
        jacobian: (6, n) Of the tool, base axes, linear rows first.
        drift: (6,) Tool acceleration at zero joint acceleration, J' dq, m/s^2 and rad/s^2.
        position: (3,) Tool position, m.
        rotation: (3, 3) Tool orientation.
        twist: (6,) Tool velocity, m/s and rad/s.
        joint_rows: (n, n) Row i is the Jacobian of joint i.
    """

    def __init__(self, robot: RobotModel, base: pin.SE3 | None = None, first_joint: int = 0) -> None:
        """Keep the model; `base` is the pose of the arm's base in the common frame."""
        self.robot = robot
        self.joints = slice(first_joint, first_joint + robot.n)
        self.effort_kind = effort_kind_of(robot.profile)
        measured = robot.motor_inertia_for(self.effort_kind.inertia)
        self.unmeasured_inertia: Array = robot.apparent_motor_inertia - measured
        # The base is moved within a copy of the model, so that everything comes out in the common frame.
        self.model = _placed(robot.model, base)
        self._data = self.model.createData()
        self._frame = robot.tool_frame_id
        self._zeros = np.zeros(robot.n)
        placement = self._data.oMf[self._frame]
        self.mass_matrix: Array = self._data.M
        self.bias: Array = self._data.nle
        self.gravity: Array = self._data.g
        self.position: Array = placement.translation
        self.rotation: Array = placement.rotation
        self.joint_rows: Array = np.eye(robot.n)
        self.update(robot.home, self._zeros)

    def link_torque(self, effort: Array) -> Array:
        """Joint torques (n,) of this arm by the measured efforts of all arms, N m; NaN where they are no torques."""
        return np.asarray(effort[self.joints] + self.effort_kind.missing_gravity * self.gravity)

    def update(self, q: Array, dq: Array) -> None:
        """Refresh everything for joint positions (n,), rad, and velocities (n,), rad/s."""
        self.q = q
        model, data, frame = self.model, self._data, self._frame
        pin.computeAllTerms(model, data, q, dq)
        pin.forwardKinematics(model, data, q, dq, self._zeros)
        pin.updateFramePlacement(model, data, frame)
        self.jacobian: Array = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        self.drift: Array = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL_WORLD_ALIGNED).vector
        self.twist: Array = self.jacobian.dot(dq)

    def joint_velocity_for(self, twist: Array, held_joint: int = -1, rate: float = 0.0) -> Array:
        """Joint velocity (n,) that gives a tool twist (6,) while one joint moves at a rate, rad/s.

        Of several such velocities it is the smallest one; `held_joint` of -1 leaves every joint free.
        """
        matrix, wanted = self.jacobian, twist
        if held_joint >= 0:
            matrix = np.vstack([matrix, np.eye(self.robot.n)[held_joint]])
            wanted = np.append(wanted, rate)
        return np.asarray(np.linalg.lstsq(matrix, wanted, rcond=None)[0])


def _placed(model: pin.Model, base: pin.SE3 | None) -> pin.Model:
    """The model with its base at a pose of another frame, whose axes gravity then refers to as before to the base's."""
    if base is None or base.isIdentity():
        return model
    moved = pin.Model(model)
    for joint in range(1, model.njoints):
        if model.parents[joint] == 0:
            moved.jointPlacements[joint] = base * model.jointPlacements[joint]
    moved.gravity = pin.Motion(base.rotation @ model.gravity.linear, np.zeros(3))
    return moved
