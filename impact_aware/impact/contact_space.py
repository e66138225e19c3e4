"""The impact problem seen from the contact: one 3 x 3 Delassus matrix and one relative velocity.

Every single-contact map needs no more than that, and the joint-space answer is `dq + response @ impulse` (paper
Rey Arias 2024, eq. (14), with the impulse's direction left to the map).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject, point_jacobian
from impact_aware.robot import RobotModel


class ContactSpace(NamedTuple):
    """One impact problem in contact axes (normal, tangent, tangent); `n` joints.

    Attributes:
        jacobian: (3, n) Joint velocities to the velocity of the robot's contact point.
        answers: (4, n) Jump of the joint velocities per unit impulse along each axis, then the velocities before:
            `(*impulse, 1) @ answers` are the velocities after.
        problem: (3, 4) Delassus matrix, the object's part included, and the relative velocity before.
        point: (3,) Contact point, base frame, m.
    """

    jacobian: Array
    answers: Array
    problem: Array
    point: Array

    @property
    def response(self) -> Array:
        """Impulse to the jump of the joint velocities, M^-1 J^T (n, 3)."""
        return self.answers[:3].T

    @property
    def delassus(self) -> Array:
        """Impulse to the jump of the relative velocity (3, 3), 1/kg."""
        return self.problem[:, :3]

    @property
    def velocity(self) -> Array:
        """Robot relative to obstacle before the impact (3,), m/s."""
        return self.problem[:, 3]


_BASE_AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class ContactSpaceBuilder:
    """Builds `ContactSpace` at many states of one robot with one contact; it belongs to the thread that made it."""

    def __init__(self, robot: RobotModel, contact: Contact, obstacle: FreeObject | None, inertia: str) -> None:
        """Prepare the constant parts.

        Args:
            robot: The arm.
            contact: Where and how it touches.
            obstacle: The body it touches; a fixed surface when None.
            inertia: One of `INERTIA_CHOICES`.

        Raises:
            UnknownNameError: Unknown frame or inertia.
            InvalidInputError: M+B_rho for a robot whose motor inertia is unknown.
        """
        self._model, self._data = robot.variant(inertia)
        self._frame_id = robot.tool_frame_id if contact.frame == robot.tool_frame else robot.frame_id(contact.frame)
        self._axes = contact.axes
        self._offset = contact.offset
        self._tip = -contact.radius * contact.normal
        self._given_point = contact.point
        # Frame twist to contact velocity; depends on the posture unless the lever is fixed in the base frame.
        self._selection = self._axes @ point_jacobian(self._tip)
        self._lever_is_constant = contact.point is None and not contact.offset.any()
        self._joints = robot.n
        # Views of Pinocchio's memory, because asking for them again costs as much as a product.
        self._frame_position = self._data.oMf[self._frame_id].translation
        self._frame_rotation = self._data.oMf[self._frame_id].rotation
        self._obstacle = obstacle

    def __call__(self, q: Array, dq: Array) -> ContactSpace:
        """The problem at `q` (n,) rad with `dq` (n,) rad/s, both trusted to be finite."""
        model, data, frame_id = self._model, self._data, self._frame_id
        # One sweep gives the inverse inertia and, on its way, every joint's placement and world Jacobian.
        inverse = pin.computeMinverse(model, data, q)
        pin.updateFramePlacement(model, data, frame_id)
        frame_jacobian = pin.getFrameJacobian(model, data, frame_id, _BASE_AXES)
        if self._lever_is_constant:
            lever = self._tip
            jacobian = self._selection.dot(frame_jacobian)
        else:
            if self._given_point is None:
                lever = self._frame_rotation @ self._offset + self._tip
            else:
                lever = self._given_point - self._frame_position
            jacobian = self._axes.dot(point_jacobian(lever)).dot(frame_jacobian)
        n = self._joints
        if n == 1:
            # Pinocchio gives a single joint's Jacobian without its second axis.
            jacobian = jacobian.reshape(3, 1)
        # Impulse and velocity answer the same products, so they share them: two calls fewer.
        answers = np.empty((4, n))
        answers[3] = dq
        jacobian.dot(inverse, answers[:3])
        problem = jacobian.dot(answers.T)
        point = self._frame_position + lever
        if self._obstacle is not None:
            self._add_obstacle(problem, point)
        return ContactSpace(jacobian, answers, problem, point)

    def _add_obstacle(self, problem: Array, point: Array) -> None:
        assert self._obstacle is not None
        jacobian = self._axes @ self._obstacle.jacobian(point)
        problem[:, :3] += jacobian @ self._obstacle.inverse_inertia @ jacobian.T
        problem[:, 3] -= jacobian @ self._obstacle.twist
