"""States that no arm can be in: positions in degrees, a sign, another arm's joints."""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.robot.model import RobotModel

POSITION_SLACK = 0.5
"""How far past the URDF's limits a position is accepted, rad: further than any arm's stops give way."""

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
    limit = np.where(robot.limits.velocity > 0.0, robot.limits.velocity, np.inf)
    return np.asarray(np.abs(dq) > SPEED_FACTOR * limit)


def position_range(robot: RobotModel, joint: int) -> str:
    """The URDF's range of a joint, for messages."""
    low, high = robot.model.lowerPositionLimit[joint], robot.model.upperPositionLimit[joint]
    return f"radians within {low:.4g} and {high:.4g}"


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
