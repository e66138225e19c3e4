"""When is the task done: the object rests at its goal, or nothing moves any more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control.command import Command, Mode


@dataclass
class TaskCompletion:
    """Watches commands of the post-impact mode.

    Attributes:
        goal_tolerance: Distance from the goal that counts as reached, m.
        rest_speed: Tool speed below which nothing moves, m/s.
        dwell: How long both must hold, s.
        give_up: How long nothing may move away from the goal before the task counts as over, s.
    """

    goal_tolerance: float = 0.01
    rest_speed: float = 0.02
    dwell: float = 0.1
    give_up: float = 1.0

    def __post_init__(self) -> None:
        """Start watching."""
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self._still_since = np.inf
        self._reached_since = np.inf

    def done(self, command: Command, goal: Array) -> bool:
        """Whether the task is over with this command; `goal` is (3,), m."""
        if command.mode is not Mode.POST:
            self.reset()
            return False
        still = bool(np.linalg.norm(command.tool_twist[:, :3], axis=1).max() < self.rest_speed)
        near = goal_distance(command, goal) < self.goal_tolerance
        self._still_since = min(self._still_since, command.time) if still else np.inf
        self._reached_since = min(self._reached_since, command.time) if still and near else np.inf
        reached = command.time - self._reached_since >= self.dwell
        return reached or command.time - self._still_since >= self.give_up


def goal_distance(command: Command, goal: Array) -> float:
    """Estimated distance of the object from its goal in the plane it slides on, m; NaN when unknown."""
    return float(np.linalg.norm((command.object_position - goal)[:2]))
