"""Exponentially extended Hunt-Crossley contact: it never pulls, however fast the bodies are torn apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import lambertw

from impact_aware.contact.force_model import Array, ContactForceModel, check_not_negative, check_positive, in_contact


@dataclass(frozen=True)
class ExponentialHuntCrossley(ContactForceModel):
    """F = delta^eta (k + d ddelta) in compression, k exp((d/k) ddelta) delta^eta in restitution, Rey Arias 2024, (7).

    Attributes:
        stiffness: k_c, N/m^eta, > 0.
        damping: d_c, N s/m^(eta+1), >= 0.
        exponent: eta, Hertz' geometry-dependent exponent.
    """

    stiffness: float
    damping: float
    exponent: float = 1.5

    def __post_init__(self) -> None:
        """Check the parameters.

        Raises:
            InvalidInputError: A stiffness or exponent that is not positive, or a negative damping.
        """
        object.__setattr__(self, "stiffness", check_positive("stiffness", self.stiffness, "N/m^eta"))
        object.__setattr__(self, "damping", check_not_negative("damping", self.damping, "N s/m^(eta+1)"))
        object.__setattr__(self, "exponent", check_positive("exponent", self.exponent, ""))

    def force(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.force`; Rey Arias 2024, eq. 7."""
        depth, _ = in_contact(penetration)
        return self.stiffness * depth**self.exponent * self._factor(np.asarray(rate, dtype=float))

    def potential_energy(self, penetration: ArrayLike, rate: ArrayLike = 0.0, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.potential_energy`."""
        depth, _ = in_contact(penetration)
        return self.stiffness * depth ** (self.exponent + 1.0) / (self.exponent + 1.0)

    def dissipated_power(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.dissipated_power`."""
        depth, _ = in_contact(penetration)
        speed = np.asarray(rate, dtype=float)
        return self.stiffness * depth**self.exponent * (self._factor(speed) - 1.0) * speed

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
