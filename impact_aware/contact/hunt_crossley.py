"""Hunt-Crossley contact: damping that grows with the penetration, so the force starts from zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import lambertw

from impact_aware.contact.force_model import Array, ContactForceModel, check_not_negative, check_positive, in_contact


@dataclass(frozen=True)
class HuntCrossley(ContactForceModel):
    """F = k delta^eta + d delta^eta ddelta for delta >= 0 (Aouaj 2021, eq. 6; Aouaj thesis, eq. 2.12).

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
        """Check the parameters.

        Raises:
            InvalidInputError: A stiffness or exponent that is not positive, or a negative damping.
        """
        object.__setattr__(self, "stiffness", check_positive("stiffness", self.stiffness, "N/m^eta"))
        object.__setattr__(self, "damping", check_not_negative("damping", self.damping, "N s/m^(eta+1)"))
        object.__setattr__(self, "exponent", check_positive("exponent", self.exponent, ""))

    @classmethod
    def from_restitution_slope(cls, stiffness: float, slope: float, exponent: float = 1.5) -> HuntCrossley:
        """The model whose restitution starts to fall as 1 - slope * speed: d = 3/2 slope k (Aouaj thesis, eq. 2.14).

        Args:
            stiffness: N/m^eta.
            slope: alpha, s/m; 0.08 to 0.32 for common materials.
            exponent: eta.
        """
        return cls(stiffness, 1.5 * check_not_negative("slope", slope, "s/m") * stiffness, exponent)

    def force(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.force`; Aouaj 2021, eq. 6."""
        depth, _ = in_contact(penetration)
        return depth**self.exponent * (self.stiffness + self.damping * np.asarray(rate, dtype=float))

    def potential_energy(self, penetration: ArrayLike, rate: ArrayLike = 0.0, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.potential_energy`."""
        depth, _ = in_contact(penetration)
        return self.stiffness * depth ** (self.exponent + 1.0) / (self.exponent + 1.0)

    def dissipated_power(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.dissipated_power`."""
        depth, _ = in_contact(penetration)
        return self.damping * depth**self.exponent * np.asarray(rate, dtype=float) ** 2

    def restitution(self, speed: ArrayLike, effective_mass: ArrayLike = 1.0) -> Array:
        """Depends on (d / k) * speed only, not on mass, stiffness or exponent.

        Equal areas under v dv / (1 + (d/k) v) in compression and restitution give y exp(-y) = x exp(-x) with
        x = 1 + (d/k) speed and y = 1 - (d/k) e speed, solved by Lambert's W.
        """
        x = 1.0 + self.damping / self.stiffness * np.asarray(speed, dtype=float) + 0.0 * np.asarray(effective_mass)
        y = -np.real(lambertw(-x * np.exp(-x)))
        with np.errstate(divide="ignore", invalid="ignore"):
            exact = (1.0 - y) / (x - 1.0)
        # Below this the quotient of two small differences loses more digits than the series drops.
        small = x - 1.0
        return np.where(small < 1e-3, 1.0 - small * (2.0 / 3.0 - small * (4.0 / 9.0 - small * 44.0 / 135.0)), exact)
