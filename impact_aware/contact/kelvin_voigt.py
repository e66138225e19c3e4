"""Kelvin-Voigt contact: a linear spring and a linear dashpot side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.contact.force_model import Array, ContactForceModel, check_not_negative, check_positive, in_contact


@dataclass(frozen=True)
class KelvinVoigt(ContactForceModel):
    """F = k delta + d ddelta for delta >= 0 (Aouaj thesis, eq. 2.11).

    As printed, the force jumps at first touch and pulls at the end. The jump belongs to the model; the pull is cut off
    unless `tension` is asked for, because bodies that are not glued together don't pull.

    Attributes:
        stiffness: k, N/m, > 0.
        damping: d, N s/m, >= 0.
        tension: Whether the force may pull, as equation (2.11) does.
    """

    stiffness: float
    damping: float
    tension: bool = False

    def __post_init__(self) -> None:
        """Check every field; raises `InvalidInputError` with the name of one that is out of range."""
        object.__setattr__(self, "stiffness", check_positive("stiffness", self.stiffness, "N/m"))
        object.__setattr__(self, "damping", check_not_negative("damping", self.damping, "N s/m"))

    @property
    def pulls(self) -> bool:
        """See `ContactForceModel.pulls`."""
        return self.tension

    def force(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.force`; Aouaj thesis, eq. 2.11."""
        depth, touching = in_contact(penetration)
        force = self.stiffness * depth + self.damping * np.asarray(rate, dtype=float)
        return np.where(touching, force if self.tension else np.maximum(force, 0.0), 0.0)

    def potential_energy(self, penetration: ArrayLike, rate: ArrayLike = 0.0, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.potential_energy`."""
        depth, _ = in_contact(penetration)
        return 0.5 * self.stiffness * depth**2

    def dissipated_power(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """See `ContactForceModel.dissipated_power`; with the force cut off, the spring's energy is lost."""
        depth, touching = in_contact(penetration)
        speed = np.asarray(rate, dtype=float)
        return np.where(touching, (self.force(depth, speed) - self.stiffness * depth) * speed, 0.0)

    def restitution(self, speed: ArrayLike, effective_mass: ArrayLike = 1.0) -> Array:
        """Independent of speed; exp(-2) = 0.135 at critical damping when the force doesn't pull.

        With damping ratio zeta and natural frequency omega_0, contact that can't pull ends when the force is zero, at
        tan(omega t) = 2 gamma omega / (gamma^2 - omega^2), where the speed is exactly exp(-gamma t) of the approach
        speed (gamma = zeta omega_0, omega = omega_0 sqrt(1 - zeta^2), imaginary above critical damping). Contact that
        can pull ends at omega t = pi, and never above critical damping.
        """
        speeds = np.asarray(speed, dtype=float)
        mass = np.asarray(effective_mass, dtype=float)
        ratio = self.damping / (2.0 * np.sqrt(self.stiffness * mass))
        root = np.sqrt(np.abs(1.0 - ratio**2))
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.tension:
                exponent = np.where(ratio < 1.0, np.pi * ratio / root, np.inf)
            else:
                under = np.arctan2(2.0 * ratio * root, ratio**2 - root**2) / root
                # artanh(2 ab / (a^2 + b^2)) is ln((a + b) / (a - b)), which loses no digits for strong damping.
                over = 2.0 * np.log(ratio + root) / root
                exponent = ratio * np.where(ratio < 1.0, under, over)
                exponent = np.where(root < 1e-6, 2.0, exponent)
        return np.exp(-exponent) * np.ones_like(speeds)
