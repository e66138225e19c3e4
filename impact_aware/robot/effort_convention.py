"""What an arm's effort interface takes: the whole joint torque, or what is left without gravity.

The controllers of this package work with whole torques. Arms such as Franka's add the gravity torque themselves: sent
to them, a whole torque would lift the arm with its own weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.compiled import NOTHING, VECTOR, WRITTEN_VECTOR, compiled
from impact_aware.robot.model import RobotModel


@compiled(NOTHING, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, WRITTEN_VECTOR)
def without_gravity(
    effort: Array, gravity: Array, carried: Array, previous: Array, step: Array, command: Array
) -> None:
    """Torques less the gravity that the arms carry themselves, at most a step from the last ones: (n,) each, N m."""
    for i in range(carried.size):
        wanted = effort[i] - carried[i] * gravity[i]
        command[i] = min(max(wanted, previous[i] - step[i]), previous[i] + step[i])


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
        # Which of the joints' gravity the arms take care of themselves, 0 or 1.
        self._carried = np.repeat([float(not whole) for whole in self.includes_gravity], [r.n for r in robots])
        first = 0
        for robot, whole in zip(robots, self.includes_gravity, strict=True):
            if not whole:
                self._parts.append((slice(first, first + robot.n), robot, robot.model.createData()))
            first += robot.n
        self._step = np.concatenate([robot.limits.effort_rate for robot in robots]) * period
        self._unlimited = np.full_like(self._step, np.inf)
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
        if gravity is None:
            gravity = self.to_effort(np.zeros_like(effort), q)
        command = np.empty_like(effort)
        if self._previous is None:
            without_gravity(effort, gravity, self._carried, effort, self._unlimited, command)
        else:
            without_gravity(effort, gravity, self._carried, self._previous, self._step, command)
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
