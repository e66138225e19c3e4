"""The inverse inertia matrices of Wang 2021, and the impulse at the end of compression that each of them predicts.

An inverse inertia matrix W (3, 3) maps an impulse at the contact point to the jump of that point's velocity, eq. (1).
The paper compares what the arm shows if its joints give way freely (generalized momentum, equivalent mass) with what
it shows if stiff control makes one rigid body of it (composite rigid body), and with the step from the latter back to
the former (flexibility). All are in the base frame's axes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, contact_jacobian, contact_point, point_jacobian
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel


class CompositeBody(NamedTuple):
    """The arm as one rigid body.

    Attributes:
        mass: Of all moving links, kg.
        centre: (3,) Centre of mass, base frame, m.
        inertia: (3, 3) About the centre, base axes, kg m^2.
        velocity_jacobian: (6, n) Joint velocities to the average velocity at the centre, linear rows first.
    """

    mass: float
    centre: Array
    inertia: Array
    velocity_jacobian: Array


def generalized_momentum_inverse_inertia(
    robot: RobotModel, q: Array, contact: Contact, inertia: str = "M+B_theta"
) -> Array:
    """W of eq. (6): the translational block of J M^-1 J^T at the contact point, (3, 3), 1/kg."""
    jacobian = contact_jacobian(robot, q, contact)
    return np.asarray(jacobian @ np.linalg.solve(robot.mass_matrix(q, inertia), jacobian.T), dtype=float)


def equivalent_mass_matrix(robot: RobotModel, q: Array, contact: Contact, inertia: str = "M+B_theta") -> Array:
    """Translational block (3, 3) of the equivalent inertia (J M^-1 J^T)^-1 with six rows, eq. (7), kg.

    In directions that the arm can't move at all the equivalent inertia is infinite; the pseudo-inverse leaves them out.
    """
    angular = robot.frame_jacobian(q, contact.frame).reshape(6, robot.n)[3:]
    jacobian = np.vstack([contact_jacobian(robot, q, contact), angular])
    inverse = jacobian @ np.linalg.solve(robot.mass_matrix(q, inertia), jacobian.T)
    return np.asarray(np.linalg.pinv(inverse, rcond=1e-10, hermitian=True)[:3, :3], dtype=float)


def composite_body(robot: RobotModel, q: Array) -> CompositeBody:
    """The arm frozen in its posture, eqs. (12)-(13); motor inertias are inside the joints and do not count."""
    model, data = robot.model, robot.data
    momentum_matrix = np.array(pin.computeCentroidalMap(model, data, q)).reshape(6, robot.n)
    pin.ccrba(model, data, q, np.zeros(robot.n))
    # Links that no joint moves belong to the base and are not part of the body.
    inertia = data.Ig.inertia + data.Ig.mass * (pin.skew(data.Ig.lever).T @ pin.skew(data.Ig.lever))
    mass = float(data.Ig.mass)
    inverse = np.zeros((6, 6))
    inverse[:3, :3], inverse[3:, 3:] = np.eye(3) / mass, np.linalg.inv(inertia)
    return CompositeBody(mass, np.array(data.com[0]), np.array(inertia), inverse @ momentum_matrix)


def composite_inverse_inertia(robot: RobotModel, q: Array, contact: Contact) -> Array:
    """W of eq. (17), (3, 3), 1/kg: the arm answers as one rigid body."""
    body = composite_body(robot, q)
    lever = pin.skew(contact_point(robot, q, contact) - body.centre)
    return np.asarray(np.eye(3) / body.mass - lever @ np.linalg.solve(body.inertia, lever), dtype=float)


def flexibility_inverse_inertia(robot: RobotModel, q: Array, contact: Contact, inertia: str = "M+B_theta") -> Array:
    """W_flexibility of eqs. (20)-(22), (3, 3), 1/kg: what the joints' motion adds to the composite body's W."""
    jacobian = contact_jacobian(robot, q, contact)
    relative = jacobian - _rigid_jacobian(robot, q, contact)
    return np.asarray(relative @ np.linalg.solve(robot.mass_matrix(q, inertia), jacobian.T), dtype=float)


def end_of_compression_impulse(inverse_inertia: Array, normal: Array, normal_velocity: float) -> float:
    """Normal impulse at which the approach has come to rest, eq. (32), N s.

    Args:
        inverse_inertia: (3, 3) One of the matrices of this module, 1/kg.
        normal: (3,) Unit vector.
        normal_velocity: Just before, m/s, negative when approaching.

    Raises:
        InvalidInputError: The matrix shows no mobility along the normal.
    """
    mobility = float(normal @ inverse_inertia @ normal)
    if not mobility > 0.0:
        raise InvalidInputError("inverse inertia along the normal", mobility, "a number > 0 1/kg")
    return -normal_velocity / mobility


def approximate_to_exact_ratio(robot: RobotModel, q: Array, dq: Array, contact: Contact) -> float:
    """How much of the contact's normal velocity the rigid motion of the whole arm explains, eq. (29).

    Raises:
        InvalidInputError: The contact does not move along its normal.
    """
    exact = float(contact.normal @ contact_jacobian(robot, q, contact) @ dq)
    if exact == 0.0:
        raise InvalidInputError("normal velocity of the contact", exact, "a number other than 0")
    return float(contact.normal @ _rigid_jacobian(robot, q, contact) @ dq) / exact


def _rigid_jacobian(robot: RobotModel, q: Array, contact: Contact) -> Array:
    """Joint velocities to the velocity (3, n) the contact point has if it moves with the average body, eq. (15)."""
    body = composite_body(robot, q)
    return point_jacobian(contact_point(robot, q, contact) - body.centre) @ body.velocity_jacobian

