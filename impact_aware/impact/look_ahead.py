"""When and in which posture will an approaching tool touch a plane, if nothing changes until then."""

from __future__ import annotations

from typing import NamedTuple

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, contact_jacobian, contact_point
from impact_aware.robot import RobotModel


class Approach(NamedTuple):
    """The contact to come.

    Attributes:
        time_to_impact: From now, s; 0 when it touches already.
        position: (n,) Joint positions at the contact, rad.
        distance: Of the contact point from the plane now, m.
        speed: Approach speed now, m/s.
    """

    time_to_impact: float
    position: Array
    distance: float
    speed: float


def look_ahead(
    robot: RobotModel,
    q: Array,
    dq: Array,
    contact: Contact,
    plane_point: Array,
    horizon: float,
    plane_velocity: Array | None = None,
) -> Approach | None:
    """Extrapolate the present velocity to the plane through `plane_point` with the contact's normal.

    Args:
        robot: The arm.
        q: (n,) rad.
        dq: (n,) rad/s.
        contact: The contact; its normal is the plane's.
        plane_point: (3,) Any point of the plane, base frame, m.
        horizon: Longest time worth looking ahead, s.
        plane_velocity: (3,) With which the plane moves, m/s; it stands when None.

    Returns:
        None when the contact recedes, or is further away than the horizon. A point already past the plane counts as
        touching.
    """
    distance = float(contact.normal @ (contact_point(robot, q, contact) - plane_point))
    speed = -float(contact.normal @ (contact_jacobian(robot, q, contact) @ dq))
    if plane_velocity is not None:
        speed += float(contact.normal @ plane_velocity)
    if speed <= 0.0 or distance > speed * horizon:
        return None
    time = max(distance, 0.0) / speed
    return Approach(time, q + dq * time, distance, speed)
