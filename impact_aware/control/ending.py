"""When a task is done, and when an arm may be left alone: a forward controller keeps the last effort for ever."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control.command import Command, Mode

STOP_TIMEOUT = 2.0
"""Longest time that a stopped session goes on commanding to bring the arms to rest, s of the states' time."""

RELEASE_SHARE = 0.02
"""Share of the torque limits by which the last command may differ from gravity compensation."""


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


class ComingToRest:
    """Follows a stop, or a shutdown, until the arms are at rest.

    Attributes:
        shutting_down: Whether a shutdown was requested.
        finished: Whether it is complete.
    """

    def __init__(self, effort_limit: Array, rest_velocity: float) -> None:
        """Keep the limits.

        Args:
            effort_limit: (n,) Torque limits, N m.
            rest_velocity: Joint velocity below which an arm counts as at rest, rad/s.
        """
        self._tolerance = RELEASE_SHARE * effort_limit
        self._rest_velocity = rest_velocity
        self._stop_before = math.inf
        self.shutting_down = self.finished = False

    @property
    def stopping(self) -> bool:
        """Whether a stop is not complete yet."""
        return math.isfinite(self._stop_before)

    def stop(self, time: float) -> None:
        """Take the request of a stop at this time, s."""
        self._stop_before = time + STOP_TIMEOUT

    def may_release(self, effort: Array, gravity: Array) -> bool:
        """Whether an arm may be left with a torque (n,) for good: nearly its gravity torque (n,), N m.

        An arm at rest need not be there yet: it may press against something, or have only begun to move.
        """
        return bool(np.all(np.abs(effort - gravity) <= self._tolerance))

    def update(self, time: float, effort: Array, gravity: Array, speed: float) -> bool:
        """Take one cycle in; whether a stop is complete with it.

        Args:
            time: s.
            effort: (n,) Last command as whole torques, N m.
            gravity: (n,) Gravity torque, N m.
            speed: Of the fastest joint, rad/s.
        """
        at_rest = speed < self._rest_velocity and self.may_release(effort, gravity)
        if self.shutting_down and at_rest:
            self.finished = True
        return self.stopping and (at_rest or time > self._stop_before) and self.end()

    def end(self) -> bool:
        """A stop is complete, or nothing is left to wait for; whether there was one."""
        stopping, self._stop_before = self.stopping, math.inf
        return stopping
