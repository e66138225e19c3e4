"""What an arm's effort interface takes: the whole joint torque, or what is left without gravity.

Arms such as Franka's add the gravity torque themselves: sent to them, a whole torque would lift the arm with its own
weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.robot.model import RobotModel


class EffortConvention:
    """Turns whole joint torques of several arms, arm after arm, into their effort commands and back.

    Attributes:
        carried: (n,) 1 for the joints of arms that add the gravity torque themselves, else 0.
    """

    def __init__(self, robots: Sequence[RobotModel]) -> None:
        """Take each arm's convention from its profile; without a profile commands are whole torques."""
        carried = [float(r.profile is not None and not r.profile.command_includes_gravity) for r in robots]
        self.carried = np.repeat(carried, [robot.n for robot in robots])
        self._robots = [(robot.model, robot.model.createData(), robot.n) for robot in robots]

    def to_command(self, effort: Array, q: Array) -> Array:
        """The command (n,) for whole torques (n,) at positions (n,), N m."""
        return effort - self._added(q)

    def to_effort(self, command: Array, q: Array) -> Array:
        """The whole torques (n,) that arms at positions (n,) make of a command (n,), N m."""
        return command + self._added(q)

    def _added(self, q: Array) -> Array:
        if not self.carried.any():
            return np.zeros_like(q)
        gravity, first = np.empty_like(q), 0
        for model, data, n in self._robots:
            gravity[first : first + n] = pin.computeGeneralizedGravity(model, data, q[first : first + n])
            first += n
        return np.asarray(self.carried * gravity)
