"""Restitution that depends on the speed: Wang 2021's nonlinear viscoelastic contact, eqs. (23)-(25)."""

from __future__ import annotations

from impact_aware.contact.geometry import check_scalar
from impact_aware.errors import InvalidInputError


def viscoelastic_restitution(stiffness: float, damping: float, normal_velocity: float) -> float:
    """Coefficient of restitution of a contact with force -k x - c |x| dx/dt, eq. (25), at most 1.

    The contact parts at the speed k/c however fast it came, so a faster impact is relatively softer; below k/c it would
    have to part faster than it came, and is taken as elastic.

    Args:
        stiffness: k, N/m, >= 0.
        damping: c, N s/m^2, > 0.
        normal_velocity: Just before, m/s, negative.

    Raises:
        InvalidInputError: A negative stiffness, a damping that is not positive, or a velocity that does not approach.
    """
    check_scalar("stiffness", stiffness, 0.0, float("inf"))
    check_scalar("damping", damping, 0.0, float("inf"), open_below=True)
    if not normal_velocity < 0.0:
        raise InvalidInputError("normal velocity", normal_velocity, "a number < 0 m/s")
    return min(1.0, -stiffness / (damping * normal_velocity))
