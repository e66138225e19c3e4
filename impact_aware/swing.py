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

    def travel_of_ramp(self, velocity: Array, elapsed: float, ramp: float) -> Array:
        """How far (3,) it moves from now to the end of a ramp with sigma v, m, where sigma = 3u^2 - 2u^3, u = s / ramp.

        v(s) is the real part of V e^(iws) with V = v + i w d, and the integral of a polynomial P times e^(iws) is
        e^(iws) sum_k (-1)^k P^(k) / (iw)^(k+1).

        Args:
            velocity: (3,) With which it moves now, m/s.
            elapsed: Of the ramp until now, s.
            ramp: Its length, s.
        """
        amplitude, step = velocity + 1j * self.frequency * self.offset, 1j * self.frequency

        def integral(s: float) -> Array:
            u, rate = s / ramp, 1.0 / ramp
            second, third = 6.0 * (1.0 - 2.0 * u) * rate**2, -12.0 * rate**3
            derivatives = u * u * (3.0 - 2.0 * u), 6.0 * u * (1.0 - u) * rate, second, third
            total = sum((-1) ** k * derivative / step ** (k + 1) for k, derivative in enumerate(derivatives))
            return np.real(amplitude * np.exp(step * (s - elapsed)) * total)

        return np.asarray(integral(ramp) - integral(elapsed))
