"""What an impact leaves besides the velocity of the object, and how the reference lets it die away.

Just after an impact a tool turns with its object, and the joint of the null-space task moves: both at rates that the
impact map predicts, while (17) and (21) of van Steen 2024 want both to stand still at once. Here the reference begins
where tool and joint are, at the predicted rates, and comes to rest from there; see docs/papers.md.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array


class Settling:
    """A displacement x (k,) from what is wanted, begun by an impact: x'' = -gamma (2 lambda x' + lambda^2 x).

    With gamma = 0 it goes on as the impact left it, as nothing stops the arm then; with gamma = 1 it is critically
    damped. The arrays are made anew in each step, so that a copy of it is independent.

    Attributes:
        displacement: x (k,), rad.
        velocity: x' (k,), rad/s.
        acceleration: x'' (k,), rad/s^2.
    """

    def __init__(self, size: int, rate: float) -> None:
        """At rest where it is wanted; `rate` is lambda, 1/s."""
        self._rate = rate
        self.displacement = self.velocity = self.acceleration = np.zeros(size)
        self._expected: Array | None = None

    def expect(self, velocity: ArrayLike, displacement: ArrayLike) -> None:
        """The velocity (k,) just after the impact, rad/s, and the displacement (k,) at it, rad.

        A later prediction for the same impact changes the velocity by what it differs from the one before.
        """
        predicted = np.array(velocity, dtype=float)
        if self._expected is None:
            self.displacement, self.velocity = np.array(displacement, dtype=float), predicted
        else:
            self.velocity = self.velocity + predicted - self._expected
        self._expected = predicted

    def advance(self, period: float, blend: float) -> None:
        """A period later, s, when gamma is `blend`, 0..1: a step of Heun's method."""
        before = self.acceleration
        self.displacement = self.displacement + period * (self.velocity + 0.5 * period * before)
        predicted = self.velocity + period * before
        self.acceleration = -blend * self._rate * (2.0 * predicted + self._rate * self.displacement)
        self.velocity = predicted + 0.5 * period * (self.acceleration - before)


class ArmSettling:
    """Both of one arm.

    Attributes:
        rotation: Of the tool from its wanted orientation, a rotation vector in base axes.
        joint: Of the null-space task's joint from where it is held.
    """

    def __init__(self, rate: float) -> None:
        """At rest."""
        self.rotation, self.joint = Settling(3, rate), Settling(1, rate)

    def later(self, period: float, rotation_blend: float, joint_blend: float) -> ArmSettling:
        """These a period later, s, at these gammas; this one stays."""
        found = copy.copy(self)
        found.rotation, found.joint = copy.copy(self.rotation), copy.copy(self.joint)
        found.rotation.advance(period, rotation_blend)
        found.joint.advance(period, joint_blend)
        return found
