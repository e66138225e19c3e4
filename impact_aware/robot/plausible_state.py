"""States that no arm can be in, and postures beyond its limits: degrees, a sign, another arm's joints or offsets."""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.robot.model import RobotModel

POSITION_SLACK = 0.5
"""How far past the URDF's limits a position is accepted, rad: further than any arm's stops give way."""

_LIMIT_ROUNDING = 1e-6
"""How far past a limit a position still counts as on it, rad."""

SPEED_FACTOR = 10.0
"""How many times the URDF's velocity limit a speed is accepted; pi/180 is one in 57."""


def implausible_position(robot: RobotModel, q: Array) -> Array:
    """Which positions (..., n), rad, are further than `POSITION_SLACK` past the URDF's limits, as booleans."""
    model = robot.model
    beyond = (q < model.lowerPositionLimit - POSITION_SLACK) | (q > model.upperPositionLimit + POSITION_SLACK)
    return np.asarray(beyond)


def implausible_speed(robot: RobotModel, dq: Array) -> Array:
    """Which velocities (..., n), rad/s, are more than `SPEED_FACTOR` times the URDF's limit, as booleans."""
    # A URDF without a limit says 0.
    limit = robot.limits.velocity
    return np.asarray((np.abs(dq) > SPEED_FACTOR * limit) & (limit > 0.0))


def position_range(robot: RobotModel, joint: int) -> str:
    """The URDF's range of a joint, for messages."""
    low, high = robot.model.lowerPositionLimit[joint], robot.model.upperPositionLimit[joint]
    return f"radians within {low:.4g} and {high:.4g}"


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
