"""Maxwell contact: a linear spring and a linear dashpot in series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.contact.force_model import Array, ContactForceModel, check_positive, in_contact


@dataclass(frozen=True)
class Maxwell(ContactForceModel):
    """F = k (delta - s), ds/dt = F / c, with the dashpot's stretch s as internal variable (Wang 2021, VII-A.2).

    Attributes:
        stiffness: k, N/m, > 0.
        damping: c, N s/m, > 0.
    """

    stiffness: float
    damping: float
    has_memory: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check every field; raises `InvalidInputError` with the name of one that is out of range."""
        object.__setattr__(self, "stiffness", check_positive("stiffness", self.stiffness, "N/m"))
        object.__setattr__(self, "damping", check_positive("damping", self.damping, "N s/m"))

    def force(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.force`; contact ends where the spring is no longer compressed."""
        depth, touching = in_contact(penetration)
        return np.where(touching, np.maximum(self.stiffness * (depth - np.asarray(internal, dtype=float)), 0.0), 0.0)

    def internal_rate(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike) -> Array:
        """Rate of the dashpot's stretch, m/s."""
        return self.force(penetration, rate, internal) / self.damping

    def potential_energy(self, penetration: ArrayLike, rate: ArrayLike = 0.0, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.potential_energy`."""
        return self.force(penetration, rate, internal) ** 2 / (2.0 * self.stiffness)

    def dissipated_power(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.dissipated_power`."""
        return self.force(penetration, rate, internal) ** 2 / self.damping

    def restitution(self, speed: ArrayLike, effective_mass: ArrayLike = 1.0) -> Array:
        """Independent of speed: exp(-pi gamma / omega), and zero when the dashpot is too weak for an oscillation.

        The force obeys F'' + (k/c) F' + (k/m) F = 0 from F = 0, so gamma = k / (2 c), omega^2 = k / m - gamma^2.
        """
        decay = self.stiffness / (2.0 * self.damping)
        square = self.stiffness / np.asarray(effective_mass, dtype=float) - decay**2 + 0.0 * np.asarray(speed)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(square > 0.0, np.exp(-np.pi * decay / np.sqrt(np.abs(square))), 0.0)
