"""The impact problem seen from the contact: one 3 x 3 Delassus matrix and one relative velocity.

Every single-contact map needs no more than that, and the joint-space answer is `dq + response @ impulse`
(paper 000, eq. (14), with the impulse's direction left to the map).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_aware.contact.geometry import Contact, FreeObject, point_jacobian
from impact_aware.robot import RobotModel

Array = NDArray[np.float64]


class ContactSpace(NamedTuple):
    """One impact problem in contact axes (normal, tangent, tangent); `n` joints.

    Attributes:
        jacobian: (3, n) Joint velocities to the velocity of the robot's contact point.
        response: (n, 3) Impulse to the jump of the joint velocities, M^-1 J^T.
        delassus: (3, 3) Impulse to the jump of the relative velocity, 1/kg; the object's part included.
        velocity: (3,) Robot relative to obstacle before the impact, m/s.
        robot_inverse_mass: Normal entry of the robot's own part of the Delassus matrix, 1/kg.
        point: (3,) Contact point, base frame, m.
    """

    jacobian: Array
    response: Array
    delassus: Array
    velocity: Array
    robot_inverse_mass: float
    point: Array


class ContactSpaceBuilder:
    """Builds `ContactSpace` at many states of one robot with one contact; everything constant is prepared once."""

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
        self._model = robot.model
        self._frame_id = robot.frame_id(contact.frame)
        added = robot.motor_inertia_for(inertia)
        if not np.array_equal(added, robot.apparent_motor_inertia):
            self._model = robot.model.copy()
            self._model.armature = added
        self._data = self._model.createData()
        self._axes = contact.axes
        self._offset = contact.offset if np.any(contact.offset) else None
        self._tip = -contact.radius * contact.normal
        self._given_point = contact.point
        # Frame twist to contact velocity; depends on the posture unless the lever is fixed in the base frame.
        self._selection = self._axes @ point_jacobian(self._tip)
        self._lever_is_constant = self._offset is None and contact.point is None
        self._obstacle = obstacle

    def __call__(self, q: Array, dq: Array) -> ContactSpace:
        """The problem at `q` (n,) rad with `dq` (n,) rad/s, both trusted to be finite."""
        model, data, frame_id = self._model, self._data, self._frame_id
        # One sweep gives the inverse inertia and, on its way, every joint's placement and world Jacobian.
        inverse = pin.computeMinverse(model, data, q)
        placement = pin.updateFramePlacement(model, data, frame_id)
        frame_jacobian = pin.getFrameJacobian(model, data, frame_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        if self._lever_is_constant:
            jacobian = self._selection.dot(frame_jacobian)
            point = placement.translation + self._tip
        else:
            point, lever = self._point(placement)
            jacobian = self._axes.dot(point_jacobian(lever)).dot(frame_jacobian)
        # Pinocchio gives a single joint's Jacobian without its second axis.
        jacobian = jacobian.reshape(3, model.nv)
        response = inverse.dot(jacobian.T)
        delassus = jacobian.dot(response)
        velocity = jacobian.dot(dq)
        robot_inverse_mass = float(delassus[0, 0])
        if self._obstacle is not None:
            delassus, velocity = self._add_obstacle(delassus, velocity, point)
        return ContactSpace(jacobian, response, delassus, velocity, robot_inverse_mass, point)

    def _point(self, placement: pin.SE3) -> tuple[Array, Array]:
        """Contact point and its lever from the frame's origin, base-frame axes."""
        if self._given_point is not None:
            return self._given_point, self._given_point - placement.translation
        lever = placement.rotation @ self._offset + self._tip
        return placement.translation + lever, lever

    def _add_obstacle(self, delassus: Array, velocity: Array, point: Array) -> tuple[Array, Array]:
        assert self._obstacle is not None
        jacobian = self._axes @ self._obstacle.jacobian(point)
        return (
            delassus + jacobian @ self._obstacle.inverse_inertia @ jacobian.T,
            velocity - jacobian @ self._obstacle.twist,
        )
