"""Hunt-Crossley contacts: damping that grows with the penetration, so the force starts from zero."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import lambertw

from impact_aware.contact.force_model import Array, ContactForceModel, check_not_negative, check_positive, in_contact
from impact_aware.errors import InvalidInputError


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

    def __post_init__(self) -> None:
        """Check every field; raises `InvalidInputError` with the name of one that is out of range."""
        object.__setattr__(self, "stiffness", check_positive("stiffness", self.stiffness, "N/m^eta"))
        object.__setattr__(self, "damping", check_not_negative("damping", self.damping, "N s/m^(eta+1)"))
        object.__setattr__(self, "exponent", check_positive("exponent", self.exponent, ""))

    @classmethod
    def from_restitution_slope(cls, stiffness: float, slope: float, exponent: float = 1.5) -> HuntCrossley:
        """The model whose restitution starts to fall as 1 - slope * speed: d = 3/2 slope k (Aouaj thesis, (2.14)).

        Args:
            stiffness: N/m^eta.
            slope: alpha, s/m; 0.08 to 0.32 for common materials.
            exponent: eta.
        """
        return cls(stiffness, 1.5 * check_not_negative("slope", slope, "s/m") * stiffness, exponent)

    def force(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.force`."""
        return self._spring(penetration) * self._factor(np.asarray(rate, dtype=float))

    def potential_energy(self, penetration: ArrayLike, rate: ArrayLike = 0.0, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.potential_energy`."""
        depth, _ = in_contact(penetration)
        return self.stiffness * depth ** (self.exponent + 1.0) / (self.exponent + 1.0)

    def dissipated_power(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.dissipated_power`."""
        speed = np.asarray(rate, dtype=float)
        return self._spring(penetration) * (self._factor(speed) - 1.0) * speed

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

    def _spring(self, penetration: ArrayLike) -> Array:
        """Force of the spring alone, N."""
        depth, _ = in_contact(penetration)
        return self.stiffness * depth**self.exponent

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
