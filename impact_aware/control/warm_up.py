"""The first cycles of a session are slow, as libraries load and caches fill: here they move nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from impact_aware.control.command import Command
from impact_aware.control.parameters import ControlParameters
from impact_aware.control.session import ControlSession
from impact_aware.reference import ReferenceField
from impact_aware.robot import RobotModel

CYCLES = 20
"""Cycles after which the time per cycle does not fall any more."""


def warm_up(
    robots: Sequence[RobotModel], parameters: ControlParameters, field: ReferenceField, bases: Sequence[pin.SE3]
) -> Command:
    """Run some cycles of a session of its own, in every mode that solves a quadratic program.

    Args:
        robots: One model per arm.
        parameters: Of the session that is to be fast from its first cycle on.
        field: The reference that it will follow.
        bases: Pose of each arm's base in the common frame.

    Returns:
        The last command, which was sent nowhere.
    """
    session = ControlSession(robots, parameters, field, bases)
    home = np.concatenate([robot.home for robot in robots])
    still = np.zeros_like(home)
    session.start(0.0, home, check=False)
    command = session.cycle(0.0, home, still)
    for cycle in range(1, CYCLES):
        if cycle == CYCLES // 2:
            for arm in range(len(robots)):
                now = cycle * parameters.period
                session.events.notify_impact(now, now, arm=arm, anywhere=True)
        command = session.cycle(cycle * parameters.period, home, still)
        session.joint_reference_velocity(command)
    return command
