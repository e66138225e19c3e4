"""Harmonic motion about a middle, as of a thing that hangs on ropes.

With the offset d from the middle and the velocity v at a time, and the frequency w, the thing is displaced by
d (cos wt - 1) + v/w sin wt after t, and moves with v cos wt - d w sin wt. Both are vectors: it may move on an ellipse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.ranges import Range

FREQUENCY = Range(2.0, 11.0, "rad/s")
"""Of things that swing: periods of 0.57 to 3.1 s, ropes of 8 cm to 2.4 m."""

OFFSET = Range(-0.5, 0.5, "m")


@dataclass(frozen=True, eq=False)
class Swing:
    """How a thing swings.

    Attributes:
        offset: (3,) From the middle of its swing at the time for which its velocity is given, m.
        frequency: Angular, rad/s.
    """

    offset: Array
    frequency: float

    def __post_init__(self) -> None:
        """Refuse what is no swing."""
        FREQUENCY.check("swing frequency", self.frequency)
        OFFSET.check("swing offset", np.asarray(self.offset))

    @property
    def period(self) -> float:
        """Of one swing, s."""
        return 2.0 * math.pi / self.frequency

    def displacement(self, velocity: Array, elapsed: float) -> Array:
        """How far (3,) it has moved after a time, s, that began with a velocity (3,), m/s; m."""
        angle = self.frequency * elapsed
        return np.asarray((math.cos(angle) - 1.0) * self.offset + math.sin(angle) / self.frequency * velocity)

    def velocity(self, velocity: Array, elapsed: float) -> Array:
        """With which (3,) it moves then, m/s."""
        angle = self.frequency * elapsed
        return np.asarray(math.cos(angle) * velocity - math.sin(angle) * self.frequency * self.offset)

    def acceleration(self, velocity: Array, elapsed: float) -> Array:
        """And how that changes then (3,), m/s^2."""
        return np.asarray(-(self.frequency**2) * (self.offset + self.displacement(velocity, elapsed)))

    def after(self, velocity: Array, elapsed: float) -> Swing:
        """The same swing with its offset as it is then."""
        return Swing(self.offset + self.displacement(velocity, elapsed), self.frequency)

    def turning_times(self, velocity: Array) -> list[float]:
        """Four times, s, within a period, at which it is fastest or farthest out, in turn.

        The speed's square is |v|^2 cos^2 + w^2 |d|^2 sin^2 - 2 w v.d sin cos of the angle; its derivative vanishes at
        tan 2wt = -2 w v.d / (|v|^2 - w^2 |d|^2).
        """
        far = self.frequency * self.offset
        first = 0.5 * math.atan2(-2.0 * float(velocity @ far), float(velocity @ velocity - far @ far))
        return [(first + 0.5 * math.pi * quarter) / self.frequency for quarter in range(4)]
