"""Arguments and result of every single-contact impact map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from impact_aware.errors import NoSolutionError

Mode: TypeAlias = Literal["slide", "stick", "separate"]
MODES: tuple[Mode, ...] = ("slide", "stick", "separate")
ModeIndices: TypeAlias = NDArray[np.int8]

# Rows of a symmetric 3 x 3 matrix and three components as plain floats: at this size Python's arithmetic is several
# times faster than NumPy's calls, and a map has a few microseconds.
Rows: TypeAlias = Sequence[Sequence[float]]
Triple: TypeAlias = Sequence[float]


class LocalImpulse(NamedTuple):
    """Impulse on the robot in contact axes.

    Attributes:
        normal: Along the normal, N s, >= 0.
        tangent_1: Along the first tangent, N s.
        tangent_2: Along the second tangent, N s.
        mode: How the contact is left: still sliding, sticking, or never touched (`separate`).
    """

    normal: float
    tangent_1: float
    tangent_2: float
    mode: Mode


# (delassus, velocity, friction, restitution) -> impulse. The Delassus matrix (3 x 3, 1/kg) maps an impulse in contact
# axes to the jump of the relative velocity (3, m/s, robot minus obstacle) in the same axes, normal first.
ImpactMapFunction: TypeAlias = Callable[[Rows, Triple, float, float], LocalImpulse]


def not_semidefinite(problem: object) -> NoSolutionError:
    """Error for a Delassus matrix for which Coulomb's law has no impulse."""
    return NoSolutionError(
        "the contact never stops approaching: the Delassus matrix is not positive semidefinite", problem=problem
    )


def beyond_numbers(problem: object) -> NoSolutionError:
    """Error for a map that ended in a division by zero."""
    return NoSolutionError("the inertias at the contact differ by more than numbers can hold", problem=problem)


def not_finite(problem: object) -> NoSolutionError:
    """Error for a contact problem that is not finite."""
    return NoSolutionError(
        "the inertia or velocity at the contact is not finite: positions or velocities are too large", problem=problem
    )
