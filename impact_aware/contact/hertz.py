"""Hertz stiffness: how stiff a sphere on a plane is, from its radius and the two materials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.contact.force_model import check_positive
from impact_aware.errors import InvalidInputError, UnknownNameError


@dataclass(frozen=True)
class Material:
    """An isotropic elastic material.

    Attributes:
        youngs_modulus: E, Pa, > 0.
        poisson_ratio: nu, in -1..0.5.
    """

    youngs_modulus: float
    poisson_ratio: float

    def __post_init__(self) -> None:
        """Check every field; raises `InvalidInputError` with the name of one that is out of range."""
        check_positive("youngs_modulus", self.youngs_modulus, "Pa")
        if not -1.0 < self.poisson_ratio <= 0.5:
            raise InvalidInputError("poisson_ratio", self.poisson_ratio, "a number > -1 and <= 0.5")

    @property
    def compliance(self) -> float:
        """Material constant sigma = (1 - nu^2) / E, 1/Pa."""
        return (1.0 - self.poisson_ratio**2) / self.youngs_modulus


# Handbook orders of magnitude; wood is taken across the grain, the direction in which a table top is hit.
MATERIALS = {
    "steel": Material(210e9, 0.30),
    "aluminium": Material(70e9, 0.33),
    "hardwood": Material(1.0e9, 0.35),
    "softwood": Material(0.4e9, 0.35),
    "rubber": Material(0.01e9, 0.49),
    "abs": Material(2.3e9, 0.37),
}


def hertz_stiffness(radius: float, sphere: str | Material, plane: str | Material) -> float:
    """Stiffness K of F = K delta^(3/2) for a sphere on a plane: K = 4 sqrt(R) / (3 (sigma_i + sigma_j)).

    Thesis Aouaj thesis, eq. 2.13. The softer material dominates.

    Args:
        radius: R, m.
        sphere: Material, or its name in `MATERIALS`.
        plane: The same for the plane.

    Returns:
        N/m^(3/2).

    Raises:
        InvalidInputError: A radius that is not positive.
        UnknownNameError: A material name that is not in `MATERIALS`.
    """
    check_positive("radius", radius, "m")
    compliance = _material("sphere", sphere).compliance + _material("plane", plane).compliance
    return float(4.0 * np.sqrt(radius) / (3.0 * compliance))


def _material(field: str, material: str | Material) -> Material:
    if isinstance(material, Material):
        return material
    if material not in MATERIALS:
        raise UnknownNameError(f"{field} material", material, tuple(MATERIALS))
    return MATERIALS[material]
