"""The first cycles of a session are slow, as libraries load and caches fill: here they move nothing."""

from __future__ import annotations

import numpy as np

from impact_aware.control.command import Command
from impact_aware.control.session import ControlSession
from impact_aware.errors import InvalidInputError

CYCLES = 20
"""Cycles after which the time per cycle does not fall any more."""


def warm_up(session: ControlSession) -> Command:
    """Run some cycles of a session like this one, through an impact, with measured torques: nothing is sent.

    Afterwards no cycle of `session` loads or translates code. It takes about as long as making the session.

    Args:
        session: With its field.

    Returns:
        The last command, which was sent nowhere.

    Raises:
        InvalidInputError: The session has no field yet.
    """
    if session.field is None:
        raise InvalidInputError("field", None, "a reference field before the warm-up")
    other = ControlSession(session.robots, session.parameters, session.field, session.bases)
    home = np.concatenate([robot.home for robot in session.robots])
    still = np.zeros_like(home)
    other.start(0.0, home, check=False)
    command = other.cycle(0.0, home, still)
    for cycle in range(1, CYCLES):
        now = cycle * session.parameters.period
        if cycle == CYCLES // 2:
            for arm in range(len(session.robots)):
                other.events.notify_impact(now, now, arm=arm, anywhere=True)
        command = other.cycle(now, home, still, effort=command.effort)
        other.joint_reference_velocity(command)
    return command
