"""Checks of a trial outside the controller: its commands against the robots' limits, its end by the plant."""

from __future__ import annotations

import math

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import Mode
from impact_aware.simulation import MujocoPlant
from impact_aware_rigs.faults.bench import FaultBench

CYCLE = 0.001
"""Control period, s."""

REST_SPEED = 0.02
"""Speed below which a joint is at rest, rad/s."""

REST_WITHIN = 1.0
"""Longest time from the begin of the safe mode to rest, s."""

ROUNDING = 1e-6
"""Rounding error of a command at its limit, as a share of the limit."""


class CommandCheck:
    """Check that no command ever exceeds the robots' own limits.

    Attributes:
        effort_share: Largest ratio of a command to its limit.
        rate_share: Largest ratio of a command's change to its limit.
        failures: Violations, one sentence each.
    """

    def __init__(self, bench: FaultBench) -> None:
        """Take the limits of all arms."""
        self._limit = np.concatenate([robot.limits.effort for robot in bench.robots])
        self._step = np.concatenate([robot.limits.effort_rate for robot in bench.robots]) * CYCLE
        self._last: Array | None = None
        self.effort_share = self.rate_share = 0.0
        self.failures: list[str] = []

    def forget(self) -> None:
        """Forget the last command: the next one comes from another controller."""
        self._last = None

    def take(self, effort: Array, whole: Array, elapsed: float) -> None:
        """Check a command.

        Args:
            effort: (n,) The command as sent, N m.
            whole: (n,) The command with the gravity torque that the arms add, N m.
            elapsed: Time since the start, s.
        """
        if not (np.isfinite(effort).all() and np.isfinite(whole).all()):
            self.failures.append(f"a command that is not finite at {elapsed:.3f} s")
            return
        share = np.maximum(np.abs(effort), np.abs(whole)) / self._limit
        self.effort_share = max(self.effort_share, float(share.max()))
        if self._last is not None:
            self.rate_share = max(self.rate_share, float((np.abs(effort - self._last) / self._step).max()))
        if max(self.effort_share, self.rate_share) > 1.0 + ROUNDING and not self.failures:
            self.failures.append(f"a command over its limit at {elapsed:.3f} s")
        self._last = effort.copy()


class ObjectWatch:
    """Measures how far an object falls that two palms hold when the safe mode begins.

    Attributes:
        held: Whether it was held: every palm touched it and it was off its table.
        fell: Its descent until the end, m; NaN when it was not held.
    """

    def __init__(self, plant: MujocoPlant) -> None:
        """Measure the object's initial height."""
        self._plant = plant
        self._bottom = float(plant.state.object_placement.translation[2])
        self._height = math.nan
        self.held = False
        self.fell = math.nan

    def safe_mode_begins(self) -> None:
        """Record whether the object is held, and its height."""
        touched = {arm for arm, partner in self._plant.touching if partner == "object"}
        self._height = float(self._plant.state.object_placement.translation[2])
        several = len(self._plant.robots) > 1
        self.held = several and touched == set(self._plant.robots) and self._height > self._bottom + 0.002

    def end(self) -> None:
        """Measure the descent at the end of the trial."""
        if self.held:
            self.fell = self._height - float(self._plant.state.object_placement.translation[2])


class RestWatch:
    """Measures when the safe mode begins and when the arms come to rest.

    Attributes:
        safe_since: Begin of the safe mode, s; NaN before it.
        rest_since: Begin of the rest, s; NaN in motion.
    """

    def __init__(self) -> None:
        """Start before the safe mode."""
        self.safe_since = self.rest_since = math.nan

    def look(self, now: float, speeds: Array, mode: Mode, *, still: bool) -> bool:
        """Take the true joint speeds (n,), rad/s; returns whether the safe mode begins now.

        Rest counts only while `still` is true: nothing is about to move the arms.
        """
        begins = mode is Mode.SAFE and math.isnan(self.safe_since)
        if begins:
            self.safe_since = now
        if not (still and float(np.abs(speeds).max()) < REST_SPEED):
            self.rest_since = math.nan
        elif math.isnan(self.rest_since):
            self.rest_since = now
        return begins

    @property
    def rest_time(self) -> float:
        """Time from the begin of the safe mode to rest, s; NaN without either."""
        return self.rest_since - self.safe_since
