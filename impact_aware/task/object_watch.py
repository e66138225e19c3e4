"""Whether the poses of an object are good enough to begin a motion by, and which of them are not to be followed."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.parameters import described
from impact_aware.task.object_turn import ObjectTurn

WINDOW = 0.5
"""Rate, speed and spread are those of the last poses of this time, s."""

MOST_POSES = 1000
"""Poses of a window that are looked at."""

SHORTEST = 0.1
"""Shortest time that poses span for an estimate of the speed, s."""

SLOWEST, SIGNIFICANT = 0.01, 4.0
"""A slower object is at rest, m/s, and one whose speed is no more than so many of its standard errors."""

FEWEST = 4
"""Fewest poses for an estimate of the speed, or to reject a jump."""

JUMP_WINDOW, JUMP_SHARE = 1.0, 0.05
"""More than one pose of this time, s, and more than this share of them that jumped: it is not known which are true."""

FASTEST = 5.0
"""An object that is hit may be this fast without jumping, m/s."""


@dataclass(frozen=True)
class ObjectLimits:
    """What the poses of an object must be like for a motion to begin; 0 leaves a limit out."""

    object_pose_timeout: float = described(
        0.5, "without a new pose for this long no motion begins, s; 0: any", 0.0, 1e6
    )
    object_speed_limit: float = described(0.25, "no motion begins towards a faster object, m/s; 0: any", 0.0, 10.0)
    object_acceleration_limit: float = described(
        0.15, "nor towards one that moves and whose speed changes by more than this, m/s^2; 0: any", 0.0, 100.0
    )
    object_spread_limit: float = described(
        0.01, "nor towards one whose positions scatter by more than this about a line, m; 0: any", 0.0, 1.0
    )
    object_jump_limit: float = described(
        0.05, "a pose further from the last one is not followed until several agree with it, m; 0: any", 0.0, 10.0
    )
    object_turn_limit: float = described(
        0.6,
        "nor towards one turned by more out of the axes of the task's frame, by its nearest axes, rad; 0: any",
        0.0,
        3.2,
    )
    object_turning_limit: float = described(
        0.03, "nor towards one that goes on turning by more than this within the poses of 0.25 s, rad; 0: any", 0.0, 3.2
    )
    object_delay_limit: float = described(
        0.3, "a pose whose stamp is older than this when it comes, or in the future, is refused, s; 0: any", 0.0, 1e6
    )


class ObjectWatch:
    """Poses of one object as they come: which to follow, and whether they are fresh, still and agree.

    Attributes:
        jumps: Poses that were not followed.
        turn: How it is turned.
    """

    def __init__(self, limits: ObjectLimits, up: ArrayLike = (0.0, 0.0, 1.0)) -> None:
        """Nothing was seen yet; `up` (3,) is the vertical in the frame of the poses."""
        self._limits = limits
        self.turn = ObjectTurn(up)
        self._seen: deque[tuple[float, Array]] = deque(maxlen=MOST_POSES)
        self._others: deque[tuple[float, Array]] = deque(maxlen=FEWEST)
        self._judged: deque[tuple[float, bool]] = deque(maxlen=MOST_POSES)
        self._line: _Line | None = None
        self._arrival = -math.inf
        self.jumps = 0

    @property
    def seen(self) -> bool:
        """Whether a pose was taken at all."""
        return not math.isinf(self._arrival)

    def take(self, time: float, position: Array, rotation: Array, arrival: float) -> bool:
        """Take a pose; returns whether it is to be followed.

        A stamp that comes again is no new sight of the object; one that goes back begins another run.

        Args:
            time: Stamp, s.
            position: (3,) m, finite.
            rotation: (3, 3) Orientation of the box's axes.
            arrival: When it was received, s, by a clock that never goes back.
        """
        if self._seen and time == self._seen[-1][0]:
            return False
        if self._seen and time < self._seen[-1][0]:
            self._seen.clear()
            self._others.clear()
            self._judged.clear()
        jumped = self._jumped(time, position)
        self._judged.append((time, jumped))
        while self._judged[0][0] < time - JUMP_WINDOW:
            self._judged.popleft()
        if jumped:
            self.jumps += 1
            return False
        self._others.clear()
        self._arrival = arrival
        if not self._seen:
            self.turn.clear()
        self.turn.take(time, rotation, time - WINDOW)
        self._seen.append((time, np.array(position)))
        self._line = None
        while self._seen[0][0] < time - WINDOW:
            self._seen.popleft()
        return True

    def _jumped(self, time: float, position: Array) -> bool:
        """Return whether a pose is an outlier beside the last one; several that agree with each other are accepted."""
        if not self._limits.object_jump_limit or not self._seen:
            return False
        if not self._too_far(self._seen[-1], time, position):
            return False
        if self._others and self._too_far(self._others[-1], time, position):
            self._others.clear()
        self._others.append((time, np.array(position)))
        if len(self._others) < FEWEST:
            return True
        self._seen.clear()
        self._seen.extend(list(self._others)[:-1])
        return False

    def _too_far(self, last: tuple[float, Array], time: float, position: Array) -> bool:
        reach = self._limits.object_jump_limit + FASTEST * min(abs(time - last[0]), 0.02)
        return float(np.linalg.norm(position - last[1])) > reach

    def refusal(self, now: float) -> str:
        """Why no motion may begin by what was seen, in one sentence; empty when it may, or nothing was seen at all.

        Args:
            now: By the clock of the arrivals, s.
        """
        limits = self._limits
        if not self.seen:
            return ""
        jumps = sum(jumped for _, jumped in self._judged)
        if self._others or jumps > max(1.0, JUMP_SHARE * len(self._judged)):
            return "the object's pose jumps"
        if limits.object_pose_timeout and now - self._arrival > limits.object_pose_timeout:
            return f"no new pose of the object for more than {limits.object_pose_timeout:g} s"
        angle = self.turn.angle
        if limits.object_turn_limit and angle > limits.object_turn_limit:
            return (
                f"the object is turned by {math.degrees(angle):.0f} deg out of the axes of the task's frame, more than "
                f"object_turn_limit, {math.degrees(limits.object_turn_limit):.0f} deg"
            )
        if limits.object_turning_limit and self.turn.change > limits.object_turning_limit:
            return f"the object turns, by more than {math.degrees(limits.object_turning_limit):.1f} deg in 0.25 s"
        if not (limits.object_speed_limit or limits.object_spread_limit):
            return ""
        fit = self._fit()
        if fit is None:
            return f"the object's pose was seen for less than {SHORTEST:g} s, too short to see whether it moves"
        speed, spread = float(np.linalg.norm(fit.velocity)), fit.spread
        if limits.object_spread_limit and spread > limits.object_spread_limit:
            return f"the object's positions scatter by more than {limits.object_spread_limit:g} m"
        if limits.object_speed_limit and speed > limits.object_speed_limit:
            return f"the object moves, faster than {limits.object_speed_limit:g} m/s"
        if limits.object_acceleration_limit and self.velocity.any() and self._bend() > limits.object_acceleration_limit:
            return f"the object moves, and its speed changes by more than {limits.object_acceleration_limit:g} m/s^2"
        return ""

    @property
    def velocity(self) -> Array:
        """(3,) Velocity of the object, m/s: zeros where it is below `SLOWEST`, or not significant in the poses."""
        fit = self._fit()
        return fit.velocity if fit is not None and fit.moves else np.zeros(3)

    @property
    def position(self) -> Array:
        """(3,) Where it was at the time of the last pose, m: if it moves, on the line through the last ones."""
        fit = self._fit()
        return fit.place if fit is not None and fit.moves else self._seen[-1][1]

    def _bend(self) -> float:
        """Acceleration in the last poses, m/s^2, less two standard deviations; 0 where it is not known."""
        if len(self._seen) < FEWEST + 1:
            return 0.0
        times = np.array([time for time, _ in self._seen])
        times -= times.mean()
        columns = np.stack([np.ones_like(times), times, 0.5 * times**2], axis=1)
        positions = np.array([position for _, position in self._seen])
        solution, *_ = np.linalg.lstsq(columns, positions - positions.mean(axis=0), rcond=None)
        rest = positions - positions.mean(axis=0) - columns @ solution
        noise = math.sqrt(float((rest**2).sum()) / (3.0 * max(len(times) - 3, 1)))
        spread = noise * math.sqrt(3.0 * float(np.linalg.pinv(columns.T @ columns)[2, 2]))
        return max(0.0, float(np.linalg.norm(solution[2])) - 2.0 * spread)

    def values(self, now: float) -> dict[str, object]:
        """For diagnostics: age, s, rate, Hz, speed, m/s, and spread, m, as far as they are known."""
        if not self.seen:
            return {"object_pose": "none received"}
        values: dict[str, object] = {"object_pose_age": now - self._arrival, "object_pose_jumps": self.jumps}
        values["object_turn"] = self.turn.angle
        fit = self._fit()
        if fit is not None:
            span = self._seen[-1][0] - self._seen[0][0]
            values |= {
                "object_pose_rate": (len(self._seen) - 1) / span,
                "object_speed": float(np.linalg.norm(fit.velocity)),
                "object_pose_spread": fit.spread,
            }
        return values

    def _fit(self) -> _Line | None:
        """Return the line through the last poses; None when there are too few."""
        if len(self._seen) < FEWEST or self._seen[-1][0] - self._seen[0][0] < SHORTEST:
            return None
        # Called several times between two poses.
        if self._line is None:
            self._line = _line_through(self._seen)
        return self._line


class _Line(NamedTuple):
    """A line through poses by least squares.

    Attributes:
        velocity: (3,) m/s.
        spread: Root mean square distance of the positions from it, m.
        place: (3,) On it at the time of the last pose, m.
        moves: Whether the velocity is more than poses can err by, and than `SLOWEST`.
    """

    velocity: Array
    spread: float
    place: Array
    moves: bool


def _line_through(seen: Collection[tuple[float, Array]]) -> _Line:
    stamps, places = zip(*seen, strict=True)
    times, positions, count = np.array(stamps), np.array(places), len(stamps)
    middle = np.add.reduce(positions) / count
    times -= np.add.reduce(times) / count
    offsets = positions - middle
    square = float(times @ times)
    velocity = times @ offsets / square
    rest = (offsets - times[:, None] * velocity).ravel()
    spread = math.sqrt(float(rest @ rest) / count)
    moves = math.sqrt(float(velocity @ velocity)) > max(SLOWEST, SIGNIFICANT * spread / math.sqrt(square))
    return _Line(velocity, spread, middle + times[-1] * velocity, moves)
