"""Nonlinear viscoelastic contact of Wang 2021: a linear spring beside a dashpot that grows with the deformation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.contact.force_model import Array, ContactForceModel, check_not_negative, check_positive, in_contact
from impact_aware.contact.hunt_crossley import HuntCrossley
from impact_aware.errors import InvalidInputError


@dataclass(frozen=True)
class NonlinearViscoelastic(ContactForceModel):
    """f = k delta + c delta ddelta (Wang 2021, eq. 23, with delta = -x), Hunt-Crossley's model with exponent 1.

    Attributes:
        stiffness: k, N/m, > 0.
        damping: c, N s/m^2, >= 0.
    """

    stiffness: float
    damping: float

    def __post_init__(self) -> None:
        """Check the parameters.

        Raises:
            InvalidInputError: A stiffness that is not positive or a negative damping.
        """
        object.__setattr__(self, "stiffness", check_positive("stiffness", self.stiffness, "N/m"))
        object.__setattr__(self, "damping", check_not_negative("damping", self.damping, "N s/m^2"))

    def force(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.force`; Wang 2021, eq. 23."""
        depth, _ = in_contact(penetration)
        return depth * (self.stiffness + self.damping * np.asarray(rate, dtype=float))

    def potential_energy(self, penetration: ArrayLike, rate: ArrayLike = 0.0, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.potential_energy`; Wang 2021, eq. 26."""
        depth, _ = in_contact(penetration)
        return 0.5 * self.stiffness * depth**2

    def dissipated_power(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.dissipated_power`; the integrand of Wang 2021, eq. 27."""
        depth, _ = in_contact(penetration)
        return self.damping * depth * np.asarray(rate, dtype=float) ** 2

    def restitution(self, speed: ArrayLike, effective_mass: ArrayLike = 1.0) -> Array:
        """Exact restitution of equation (23): falls with speed, from 1 towards `restitution_bound`."""
        return HuntCrossley(self.stiffness, self.damping, 1.0).restitution(speed, effective_mass)

    def restitution_bound(self, speed: ArrayLike) -> Array:
        """Equation (25), k / (c speed) of Wang 2021: the strong-damping limit of `restitution`, always above it.

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
