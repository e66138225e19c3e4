"""What every contact-force model answers: force, stored and lost energy, and the restitution that follows from them.

A model is compressive along the contact normal: `penetration` (m) and `rate` (its time derivative, m/s) in, force (N)
out. Most models need nothing else; a model with a memory (a dashpot's stretch, the largest penetration) has one
internal variable, integrated beside the motion with `internal_rate`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError


class ContactForceModel(ABC):
    """A normal contact force as a function of penetration and penetration rate.

    Every method is vectorised: arguments broadcast, the result has their shape.

    Attributes:
        has_memory: Whether the model carries one internal variable.
    """

    has_memory: ClassVar[bool] = False

    @abstractmethod
    def force(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """Contact force, N, zero where `penetration` < 0.

        Args:
            penetration: m.
            rate: m/s, positive while compressing.
            internal: The internal variable; ignored by models without memory.
        """

    @abstractmethod
    def potential_energy(self, penetration: ArrayLike, rate: ArrayLike = 0.0, internal: ArrayLike = 0.0) -> Array:
        """Energy stored in the model's spring, J (Wang 2021, eq. 26 for a linear spring)."""

    @abstractmethod
    def dissipated_power(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike = 0.0) -> Array:
        """Power lost in the model's dashpot, W, never negative (the integrand of Wang 2021, eq. 27)."""

    @abstractmethod
    def restitution(self, speed: ArrayLike, effective_mass: ArrayLike = 1.0) -> Array:
        """Separation speed over approach speed of two bodies that only this force acts on.

        Args:
            speed: Approach speed, m/s, > 0.
            effective_mass: Reduced mass of the two bodies along the normal, kg.
        """

    @property
    def pulls(self) -> bool:
        """Whether contact lasts until the bodies part, even if the force pulls; otherwise it ends at zero force."""
        return False

    def internal_rate(self, penetration: ArrayLike, rate: ArrayLike, internal: ArrayLike) -> Array:
        """Time derivative of the internal variable; zero for a model without memory."""
        return np.zeros(np.broadcast(penetration, rate, internal).shape)

    def turning_loss(self, penetration: ArrayLike) -> Array:
        """Energy lost at once where compression turns into restitution, J; zero unless the model says so."""
        return np.zeros(np.shape(penetration))


def check_positive(field: str, value: float, unit: str) -> float:
    """`value` as a float.

    Raises:
        InvalidInputError: Not a finite number > 0.
    """
    return _checked(field, value, f"a finite number > 0 {unit}".rstrip(), lambda number: number > 0.0)


def check_not_negative(field: str, value: float, unit: str) -> float:
    """`value` as a float.

    Raises:
        InvalidInputError: Not a finite number >= 0.
    """
    return _checked(field, value, f"a finite number >= 0 {unit}".rstrip(), lambda number: number >= 0.0)


def in_contact(penetration: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
    """The penetration clipped at zero, and where the bodies touch: fractional powers of it stay real."""
    depth = np.asarray(penetration, dtype=float)
    return np.maximum(depth, 0.0), depth >= 0.0


def _checked(field: str, value: float, expected: str, accepted: Callable[[float], bool]) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(field, value, expected) from error
    if not (np.isfinite(number) and accepted(number)):
        raise InvalidInputError(field, value, expected)
    return number
