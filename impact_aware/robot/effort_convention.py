"""What an arm's effort interface takes: the whole joint torque, or what is left without gravity.

The controllers of this package work with whole torques. Arms such as Franka's add the gravity torque themselves: sent
to them, a whole torque would lift the arm with its own weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_aware.robot.model import RobotModel

Array = NDArray[np.float64]


class EffortConvention:
    """Turns whole joint torques of several arms, arm after arm, into their effort commands and back.

    Attributes:
        includes_gravity: Of each arm, whether its command is the whole torque.
    """

    def __init__(self, robots: Sequence[RobotModel], period: float = 0.001) -> None:
        """Take each arm's convention from its profile; without a profile commands are whole torques.

        Args:
            robots: One per arm.
            period: Time between two commands, s.
        """
        self.includes_gravity = [robot.profile is None or robot.profile.command_includes_gravity for robot in robots]
        self._parts: list[tuple[slice, RobotModel, pin.Data]] = []
        first = 0
        for robot, whole in zip(robots, self.includes_gravity, strict=True):
            if not whole:
                self._parts.append((slice(first, first + robot.n), robot, robot.model.createData()))
            first += robot.n
        self._step = np.concatenate([robot.limits.effort_rate for robot in robots]) * period
        self._previous: Array | None = None

    def reset(self) -> None:
        """Forget the last command: the next one starts anew."""
        self._previous = None

    def to_command(self, effort: Array, q: Array, gravity: Array | None = None) -> Array:
        """The command (n,) for whole torques (n,) at positions (n,) that are finite, N m.

        Gravity changes as the arm moves, so the torque rate is limited once more for what is sent. Who knows the
        gravity torque (n,) at these positions already, N m, spares the time to compute it.
        """
        if not self._parts:
            return effort
        command = effort.copy()
        for joints, robot, data in self._parts:
            if gravity is None:
                command[joints] -= pin.computeGeneralizedGravity(robot.model, data, q[joints])
            else:
                command[joints] -= gravity[joints]
        if self._previous is not None:
            np.maximum(command, self._previous - self._step, out=command)
            np.minimum(command, self._previous + self._step, out=command)
        self._previous = command
        return command

    def to_effort(self, command: Array, q: Array) -> Array:
        """The whole torques (n,) that an arm at positions (n,) makes of a command (n,), N m."""
        if not self._parts:
            return command
        effort = command.copy()
        for joints, robot, data in self._parts:
            effort[joints] += pin.computeGeneralizedGravity(robot.model, data, q[joints])
        return effort
