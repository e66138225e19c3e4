"""Velocity of the contact point in the base frame: before, predicted after, as observed, with its spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact import Contact
from impact_aware.contact.geometry import contact_jacobian
from impact_aware.records import ContactImpulse, Impact, Outcome
from impact_aware.robot import RobotModel


@dataclass(frozen=True, eq=False)
class ContactVelocities:
    """Velocities of the robot's material point at a contact, base frame, m/s.

    Attributes:
        before: (3,) Just before, or None.
        after: (3,) Predicted just after, or None.
        estimated: (3,) As observed, or None.
        covariance: (3, 3) Of `after`, first order: J Sigma J^T, (m/s)^2, or None.
    """

    before: Array | None
    after: Array | None
    estimated: Array | None
    covariance: Array | None


def contact_velocities(
    impact: Impact, contact: ContactImpulse, robot: RobotModel | None, outcome: Outcome | None = None
) -> ContactVelocities:
    """J dq with the robot; without it, the relative velocity of the record plus that of the object at the point.

    Relative velocities say little in a picture: after an inelastic impact they are zero whatever happened.
    """
    jacobian = _jacobian(impact, contact, robot)
    if jacobian is None:
        return ContactVelocities(
            before=contact.velocity_before + _at_point(impact, contact, impact.object_twist_before),
            after=contact.velocity_after + _at_point(impact, contact, impact.object_twist_after),
            estimated=None,
            covariance=None,
        )
    estimated = None if outcome is None else outcome.picked(impact.joint_names)
    return ContactVelocities(
        before=jacobian @ impact.velocity_before if len(impact.velocity_before) else None,
        after=jacobian @ impact.velocity_after if len(impact.velocity_after) else None,
        estimated=None if estimated is None else jacobian @ estimated,
        covariance=None if impact.covariance is None else jacobian @ impact.covariance @ jacobian.T,
    )


def _jacobian(impact: Impact, contact: ContactImpulse, robot: RobotModel | None) -> Array | None:
    """(3, n) of the contact point; None when the robot is not known or not this one."""
    if robot is None or impact.joint_names != robot.joint_names or len(impact.position) != robot.n:
        return None
    # A frame that this model lacks is a tool that its description does not name: it moves with the last body.
    frame = contact.frame if robot.model.existFrame(contact.frame) else robot.tool_frame
    place = Contact(frame=frame, normal=contact.normal, point=contact.point)
    return contact_jacobian(robot, impact.position, place)


def _at_point(impact: Impact, contact: ContactImpulse, twist: Array) -> Array:
    if not impact.object:
        return np.zeros(3)
    return twist[:3] + np.cross(twist[3:], contact.point - impact.object_position)
