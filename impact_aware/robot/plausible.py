"""What no arm has or does: inertias and sizes of no link, states in other units, postures beyond the limits.

A URDF is written by hand, and a slip in it moves predictions unnoticed. States that can't be true are in degrees, have
a turned sign, or are those of other joints.
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError, one_line
from impact_aware.robot.urdf_text import urdf_tree

if TYPE_CHECKING:
    from impact_aware.robot.model import RobotModel

LONGEST_ARM = 0.15
"""What a link reaches beyond its joints and its centre of mass, m."""

REACH = 2.0
"""A link's mass is within this many times its reach: housings stick out to the side of the joints."""

NEGLIGIBLE = 1e-4
"""Moments that no impact of an arm feels, kg m^2: dummies that simulators ask for."""

LONGEST_LINK = 5.0
"""Distance from a joint to the next one or to a centre of mass, m; lengths in mm are a thousand times too large."""

SLACK = 1e-3
"""Share by which moments may break the triangle inequality: URDFs round to some digits."""

POSITION_SLACK = 0.5
"""How far past the URDF's limits a position is accepted, rad: further than any arm's stops give way."""

_LIMIT_ROUNDING = 1e-6
"""How far past a limit a position still counts as on it, rad."""

SPEED_FACTOR = 10.0
"""How many times the URDF's velocity limit a speed is accepted; pi/180 is one in 57."""


def implausible_inertias(text: str, links: Container[str] | None = None) -> tuple[str, ...]:
    """One sentence per link of a URDF whose mass and inertia no rigid body has, or whose size no arm has.

    Principal moments are positive and none is larger than the other two together; the radius of gyration is within the
    link, whose size is estimated from the positions of its centre of mass and of the joints on it.

    Args:
        text: A URDF that `urdf_tree` accepts.
        links: Those that are looked at; all when None.
    """
    robot = urdf_tree(text)
    reach: dict[str, float] = {}
    for joint in robot.findall("joint"):
        parent, origin = joint.find("parent"), joint.find("origin")
        if parent is not None and origin is not None:
            name = parent.get("link", "")
            reach[name] = max(reach.get(name, 0.0), _length(origin.get("xyz", "0 0 0")))
    found = []
    for link in robot.findall("link"):
        inertial, name = link.find("inertial"), link.get("name", "")
        if inertial is None or not len(inertial) or (links is not None and name not in links):
            continue
        mass, inertia, origin = (inertial.find(key) for key in ("mass", "inertia", "origin"))
        assert mass is not None and inertia is not None
        xx, xy, xz, yy, yz, zz = (float(inertia.get(key, "")) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        arm, centre = reach.get(name, 0.0), _length("0 0 0" if origin is None else origin.get("xyz", "0 0 0"))
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        fault = inertia_fault(float(mass.get("value", "")), matrix, arm + centre)
        if fault:
            found.append(one_line(f"link {name}: {fault}; predictions are as wrong as its inertia is"))
        if max(arm, centre) > LONGEST_LINK:
            found.append(one_line(f"link {name}: a size of {max(arm, centre):.4g} m; are its lengths in mm?"))
    return tuple(found)


def inertia_fault(mass: float, matrix: Array, reach: float) -> str | None:
    """Return why no rigid body has this inertia, in words, or None.

    Args:
        mass: Mass, kg.
        matrix: Inertia about the centre of mass (3, 3), kg m^2.
        reach: Distance of the next joint and of the centre of mass from the joint that carries the body, added, m.
    """
    moments = np.linalg.eigvalsh(matrix)
    largest = float(np.abs(moments).max())
    if largest < NEGLIGIBLE:
        return None
    shown = ", ".join(f"{moment:.3g}" for moment in moments)
    if moments[0] < -SLACK * largest:
        return f"principal moments {shown} kg m^2, one of them negative"
    if moments[0] + moments[1] < moments[2] * (1.0 - SLACK):
        return f"principal moments {shown} kg m^2, one larger than the other two together"
    if mass == 0.0:
        return f"an inertia of {largest:.3g} kg m^2 without a mass"
    radius, size = math.sqrt(largest / mass), REACH * (LONGEST_ARM + reach)
    if radius > size:
        return f"{largest:.3g} kg m^2 on {mass:.3g} kg, a radius of gyration of {radius:.3g} m where {size:.2g} m fits"
    return None


def _length(text: str) -> float:
    return math.hypot(*map(float, text.split()))


def implausible_position(robot: RobotModel, q: Array) -> NDArray[np.bool_]:
    """Which positions (..., n), rad, are further than `POSITION_SLACK` past the URDF's limits, as booleans."""
    model = robot.model
    beyond = (q < model.lowerPositionLimit - POSITION_SLACK) | (q > model.upperPositionLimit + POSITION_SLACK)
    return np.asarray(beyond)


def implausible_speed(robot: RobotModel, dq: Array) -> Array:
    """Which velocities (..., n), rad/s, are more than `SPEED_FACTOR` times the URDF's limit, as booleans."""
    # 0 is a URDF without a limit.
    limit = robot.limits.velocity
    return np.asarray((np.abs(dq) > SPEED_FACTOR * limit) & (limit > 0.0))


def position_range(robot: RobotModel, joint: int) -> str:
    """The URDF's range of a joint, for messages."""
    low, high = robot.model.lowerPositionLimit[joint], robot.model.upperPositionLimit[joint]
    return f"radians within {low:.4g} and {high:.4g}"


def robot_notes(robot: RobotModel | None) -> tuple[str, ...]:
    """What a reader of an arm's predictions has to know about its model."""
    if robot is None:
        return ()
    unknown = robot.known_inertia("M+B_theta") == "M"
    note = (
        f"the apparent motor inertia of {robot.name} is not known: predictions are those of the links alone, M, which "
        "jump too far where motors count; impact-aware identify inertia finds it"
    )
    return (*robot.notes, note) if unknown else robot.notes


def limit_notes(robot: RobotModel, q: Array) -> tuple[str, ...]:
    """One sentence about postures (n,) or (m, n), rad, outside the URDF's joint limits; none where all are inside."""
    model = robot.model
    rows = np.atleast_2d(q)
    past = np.maximum(model.lowerPositionLimit - rows, rows - model.upperPositionLimit)
    outside = past > _LIMIT_ROUNDING
    if not outside.any():
        return ()
    row, joint = (int(index) for index in np.unravel_index(int(np.argmax(np.where(outside, past, 0.0))), past.shape))
    low, high = model.lowerPositionLimit[joint], model.upperPositionLimit[joint]
    worst = f"{robot.joint_names[joint]} at {rows[row, joint]:.4g} rad, limits {low:.4g} and {high:.4g}"
    if len(rows) == 1:
        others = int(outside.sum()) - 1
        more = f", and {others} more joint{'s' if others > 1 else ''}" if others else ""
        return (f"the posture is outside the URDF's joint limits: {worst}{more}",)
    count = int(outside.any(axis=1).sum())
    return (f"{count} of {len(rows)} postures are outside the URDF's joint limits, farthest in row {row + 1}: {worst}",)


def check_state(robot: RobotModel, q: Array, dq: Array, hint: str = "") -> None:
    """Refuse states that no arm can be in.

    Args:
        robot: The arm.
        q: (n,) or (m, n) rad.
        dq: (n,) or (m, n) rad/s.
        hint: What to do about it, appended to the message.

    Raises:
        InvalidInputError: Naming the first joint, and of several states the row.
    """
    for field, values, beyond in (
        ("q", q, implausible_position(robot, q)),
        ("dq", dq, implausible_speed(robot, dq)),
    ):
        if not beyond.any():
            continue
        place = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
        joint = int(place[-1])
        row = f" in row {int(place[0]) + 1}" if beyond.ndim > 1 else ""
        limit = robot.limits.velocity[joint]
        expected = position_range(robot, joint) if field == "q" else f"rad/s, of which the URDF allows {limit:.4g}"
        given = f"{values[place]:g} for {robot.joint_names[joint]}{row}"
        raise InvalidInputError(field, given, f"{expected}{hint}")
