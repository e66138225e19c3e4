"""Contact-force models: force, and the restitution that follows from it.

A model is compressive along the contact normal: `penetration` (m) and `rate` (its time derivative, m/s) in, force (N)
out.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import lambertw

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.ranges import NOT_NEGATIVE, POSITIVE, Range


class ContactForceModel(ABC):
    """A normal contact force as a function of penetration and penetration rate.

    Every method is vectorised: arguments broadcast, the result has their shape.

    Attributes:
        ranges: Allowed values of parameters; the others are > 0.
    """

    ranges: ClassVar[dict[str, Range]] = {}

    def __post_init__(self) -> None:
        """Refuse a parameter out of its range with an InvalidInputError that names it."""
        for entry in dataclasses.fields(self):  # type: ignore[arg-type]
            self.ranges.get(entry.name, POSITIVE).check(entry.name, getattr(self, entry.name))

    @abstractmethod
    def force(self, penetration: ArrayLike, rate: ArrayLike) -> Array:
        """Contact force, N, zero where `penetration` < 0.

        Args:
            penetration: m.
            rate: m/s, positive while compressing.
        """

    @abstractmethod
    def restitution(self, speed: ArrayLike, effective_mass: ArrayLike = 1.0) -> Array:
        """Separation speed over approach speed of two bodies that only this force acts on.

        Args:
            speed: Approach speed, m/s, > 0.
            effective_mass: Reduced mass of the two bodies along the normal, kg.
        """


def _depth(penetration: ArrayLike) -> Array:
    """The penetration clipped at zero, so that fractional powers of it stay real."""
    return np.maximum(np.asarray(penetration, dtype=float), 0.0)


@dataclass(frozen=True)
class HuntCrossley(ContactForceModel):
    """F = k delta^eta + d delta^eta ddelta for delta >= 0 (Aouaj 2021, (6); Aouaj thesis, (2.12)).

    The force pulls when separation is forced faster than k / d, as printed; bodies left to themselves never get there.

    Attributes:
        stiffness: k, N/m^eta, > 0.
        damping: d, N s/m^(eta+1), >= 0.
        exponent: eta, 3/2 for a sphere on a plane, 1 for a linear spring.
    """

    stiffness: float
    damping: float
    exponent: float = 1.5
    ranges: ClassVar[dict[str, Range]] = {"damping": NOT_NEGATIVE}

    def force(self, penetration: ArrayLike, rate: ArrayLike) -> Array:
        """See `ContactForceModel.force`."""
        spring = self.stiffness * _depth(penetration) ** self.exponent
        return spring * self._factor(np.asarray(rate, dtype=float))

    def restitution(self, speed: ArrayLike, effective_mass: ArrayLike = 1.0) -> Array:
        """Depends on (d / k) * speed only, not on mass, stiffness or exponent.

        Equal areas under v dv / (1 + (d/k) v) in compression and restitution give y exp(-y) = x exp(-x) with
        x = 1 + (d/k) speed and y = 1 - (d/k) e speed, solved by Lambert's W.
        """
        small = self.damping / self.stiffness * np.asarray(speed, dtype=float) + 0.0 * np.asarray(effective_mass)
        x = 1.0 + small
        with np.errstate(divide="ignore", invalid="ignore"):
            exact = (1.0 + np.real(lambertw(-x * np.exp(-x)))) / (x - 1.0)
        # Below this the quotient of two small differences loses more digits than the series drops.
        return np.where(small < 1e-3, 1.0 - small * (2.0 / 3.0 - small * (4.0 / 9.0 - small * 44.0 / 135.0)), exact)

    def _factor(self, rate: Array) -> Array:
        """By how much the dashpot changes the spring's force."""
        return 1.0 + self.damping / self.stiffness * rate


@dataclass(frozen=True)
class ExponentialHuntCrossley(HuntCrossley):
    """F = delta^eta (k + d ddelta) in compression, k exp((d/k) ddelta) delta^eta in restitution, Rey Arias 2024, (7).

    It never pulls, however fast the bodies are torn apart.
    """

    def restitution(self, speed: ArrayLike, effective_mass: ArrayLike = 1.0) -> Array:
        """Depends on x = (d / k) * speed only; (1 + W((x - ln(1 + x) - 1) / e)) / x with Lambert's W.

        It follows from equal areas under v dv / (1 + (d/k) v) in compression and v exp((d/k) v) dv in restitution.
        """
        x = self.damping / self.stiffness * np.asarray(speed, dtype=float) + 0.0 * np.asarray(effective_mass)
        with np.errstate(divide="ignore", invalid="ignore"):
            exact = (1.0 + np.real(lambertw((x - np.log1p(x) - 1.0) / np.e))) / x
        # Below this the quotient of two small differences loses more digits than the series drops.
        return np.where(x < 1e-3, 1.0 - x * (2.0 / 3.0 - x * (41.0 / 72.0 - x * 577.0 / 1080.0)), exact)

    def _factor(self, rate: Array) -> Array:
        scaled = self.damping / self.stiffness * rate
        return np.where(scaled >= 0.0, 1.0 + scaled, np.exp(np.minimum(scaled, 0.0)))


@dataclass(frozen=True)
class NonlinearViscoelastic(HuntCrossley):
    """f = k delta + c delta ddelta (Wang 2021, (23), with delta = -x): Hunt-Crossley's model with exponent 1."""

    exponent: float = field(default=1.0, init=False)

    def restitution_bound(self, speed: ArrayLike) -> Array:
        """Wang 2021, (25), k / (c speed): the strong-damping limit of `restitution`, always above it.

        The separation speed k / c, at which the force of (23) is zero at any depth, is never crossed by two bodies left
        to themselves, only approached; so (25) is accurate where c speed / k is large and exceeds 1 where it is small.

        Raises:
            InvalidInputError: No damping, or a speed that is not positive.
        """
        speeds = np.asarray(speed, dtype=float)
        if self.damping == 0.0:
            raise InvalidInputError("damping", self.damping, "a value > 0 N s/m^2 for equation (25)")
        if not np.all(speeds > 0.0):
            raise InvalidInputError("speed", speeds.tolist(), "an approach speed > 0 m/s")
        return self.stiffness / (self.damping * speeds)


@dataclass(frozen=True)
class KelvinVoigt(ContactForceModel):
    """F = k delta + d ddelta for delta >= 0 (Aouaj thesis, eq. 2.11).

    As printed, the force jumps at first touch and pulls at the end. The jump belongs to the model; the pull is cut off,
    because bodies that are not glued together don't pull.

    Attributes:
        stiffness: k, N/m, > 0.
        damping: d, N s/m, >= 0.
    """

    stiffness: float
    damping: float
    ranges: ClassVar[dict[str, Range]] = {"damping": NOT_NEGATIVE}

    def force(self, penetration: ArrayLike, rate: ArrayLike) -> Array:
        """See `ContactForceModel.force`; Aouaj thesis, eq. 2.11."""
        depth, speed = np.asarray(penetration, dtype=float), np.asarray(rate, dtype=float)
        return np.where(depth >= 0.0, np.maximum(self.stiffness * depth + self.damping * speed, 0.0), 0.0)

    def restitution(self, speed: ArrayLike, effective_mass: ArrayLike = 1.0) -> Array:
        """Independent of speed; exp(-2) = 0.135 at critical damping.

        With damping ratio zeta and natural frequency omega_0, contact ends when the force is zero, at
        tan(omega t) = 2 gamma omega / (gamma^2 - omega^2), where the speed is exactly exp(-gamma t) of the approach
        speed (gamma = zeta omega_0, omega = omega_0 sqrt(1 - zeta^2), imaginary above critical damping).
        """
        mass = np.asarray(effective_mass, dtype=float)
        ratio = self.damping / (2.0 * np.sqrt(self.stiffness * mass))
        root = np.sqrt(np.abs(1.0 - ratio**2))
        with np.errstate(divide="ignore", invalid="ignore"):
            under = np.arctan2(2.0 * ratio * root, ratio**2 - root**2) / root
            # artanh(2 ab / (a^2 + b^2)) is ln((a + b) / (a - b)), which loses no digits for strong damping.
            over = 2.0 * np.log(ratio + root) / root
            exponent = np.where(root < 1e-6, 2.0, ratio * np.where(ratio < 1.0, under, over))
        return np.exp(-exponent) * np.ones_like(np.asarray(speed, dtype=float))


FORCE_MODELS: dict[str, Callable[[float, float], ContactForceModel]] = {
    "kelvin_voigt": KelvinVoigt,
    "hunt_crossley": HuntCrossley,
    "exponential_hunt_crossley": ExponentialHuntCrossley,
    "viscoelastic": NonlinearViscoelastic,
}
"""Models of a stiffness and a damping, by the names that identification takes."""
