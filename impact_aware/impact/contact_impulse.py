"""What every single-contact impact map answers, and the question it is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

Mode: TypeAlias = Literal["slide", "stick", "separate"]
MODES: tuple[Mode, ...] = ("slide", "stick", "separate")

# Rows of a symmetric 3 x 3 matrix and three components as plain floats: at this size Python's arithmetic is several
# times faster than NumPy's calls, and a map has a few microseconds.
Rows: TypeAlias = Sequence[Sequence[float]]
Triple: TypeAlias = Sequence[float]


class ContactImpulse(NamedTuple):
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


NO_IMPULSE = ContactImpulse(0.0, 0.0, 0.0, "separate")

# (delassus, velocity, friction, restitution) -> impulse. The Delassus matrix (3 x 3, 1/kg) maps an impulse in contact
# axes to the jump of the relative velocity (3, m/s, robot minus obstacle) in the same axes, normal first.
ImpactMapFunction: TypeAlias = Callable[[Rows, Triple, float, float], ContactImpulse]


def stick_impulse(delassus: Rows, velocity: Triple, restitution: float) -> tuple[float, float, float]:
    """Impulse (3) that stops both tangents and reverses the normal velocity by Newton's restitution.

    Each entry may as well be an array over many contacts.
    """
    (w00, w01, w02), (_, w11, w12), (_, _, w22) = delassus
    b0, b1, b2 = -(1.0 + restitution) * velocity[0], -velocity[1], -velocity[2]
    c00, c01, c02 = w11 * w22 - w12 * w12, w02 * w12 - w01 * w22, w01 * w12 - w02 * w11
    c11, c12, c22 = w00 * w22 - w02 * w02, w01 * w02 - w00 * w12, w00 * w11 - w01 * w01
    determinant = w00 * c00 + w01 * c01 + w02 * c02
    return (
        (c00 * b0 + c01 * b1 + c02 * b2) / determinant,
        (c01 * b0 + c11 * b1 + c12 * b2) / determinant,
        (c02 * b0 + c12 * b1 + c22 * b2) / determinant,
    )
