"""Virtual spring: elastic compression, and a stiffer spring on the way back that returns only a share of the energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impact_aware.contact.force_model import Array, ContactForceModel, check_positive, in_contact
from impact_aware.contact.geometry import RESTITUTION


@dataclass(frozen=True)
class VirtualSpring(ContactForceModel):
    """F = k delta in compression, (k / e^2) (delta - (1 - e^2) delta_max) in restitution (Wang 2021, VII-A.1).

    Where compression ends, the stored energy drops to e^2 of itself while the force stays, so the spring behind it must
    be k / e^2: the force profile of e = 0 ends at its maximum. The share of energy returned is e^2 whatever happens
    along the tangents, so this is the compliant form of the energetic coefficient of restitution.

    The internal variable is the largest penetration so far, m.

    Attributes:
        stiffness: k, N/m, > 0.
        coefficient_of_restitution: e, 0..1.
    """

    stiffness: float
    coefficient_of_restitution: float = 1.0
    has_memory: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check every field; raises `InvalidInputError` with the name of one that is out of range."""
        object.__setattr__(self, "stiffness", check_positive("stiffness", self.stiffness, "N/m"))
        RESTITUTION.check("coefficient_of_restitution", self.coefficient_of_restitution)
        object.__setattr__(self, "coefficient_of_restitution", float(self.coefficient_of_restitution))

    def force(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.force`."""
        depth, _ = in_contact(penetration)
        largest = np.maximum(np.asarray(internal, dtype=float), depth)
        share = self.coefficient_of_restitution**2
        loading = (np.asarray(rate, dtype=float) >= 0.0) & _at_largest(depth, internal)
        if share == 0.0:
            return np.where(loading, self.stiffness * depth, 0.0)
        unloading = self.stiffness / share * np.maximum(depth - (1.0 - share) * largest, 0.0)
        return np.where(loading, self.stiffness * depth, unloading)

    def internal_rate(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike) -> Array:
        """Rate of the largest penetration, m/s: the penetration's own while it grows beyond the largest so far."""
        depth, _ = in_contact(penetration)
        speed = np.asarray(rate, dtype=float)
        return np.where(_at_largest(depth, internal) & (speed > 0.0), speed, 0.0)

    def potential_energy(self, penetration: ArrayLike, rate: ArrayLike = 0.0, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.potential_energy`; of the stiffer spring while `rate` < 0."""
        force = self.force(penetration, rate, internal)
        share = np.where(np.asarray(rate, dtype=float) >= 0.0, 1.0, self.coefficient_of_restitution**2)
        return share * force**2 / (2.0 * self.stiffness)

    def dissipated_power(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """Zero: all is lost at the turn, see `turning_loss`."""
        return np.zeros(np.broadcast(penetration, rate, internal).shape)

    def turning_loss(self, penetration: ArrayLike) -> Array:
        """See `ContactForceModel.turning_loss`: (1 - e^2) of the stored energy."""
        depth, _ = in_contact(penetration)
        return 0.5 * self.stiffness * depth**2 * (1.0 - self.coefficient_of_restitution**2)

    def restitution(self, speed: ArrayLike, effective_mass: ArrayLike = 1.0) -> Array:
        """The coefficient itself, at any speed and mass."""
        return self.coefficient_of_restitution * np.ones(np.broadcast(speed, effective_mass).shape)


def _at_largest(depth: Array, internal: ArrayLike) -> NDArray[np.bool_]:
    # An integrated memory lags the penetration by rounding errors, which must not look like unloading.
    return depth >= np.asarray(internal, dtype=float) * (1.0 - 1e-6)
