"""Frictionless impact with Newton's restitution: Aouaj 2021, eqs. (3)-(5), which is Rey Arias 2024's map at mu = 0."""

from __future__ import annotations

from impact_aware.impact.contact_impulse import NO_IMPULSE, ContactImpulse, Rows, Triple


def frictionless_impulse(delassus: Rows, velocity: Triple, friction: float, restitution: float) -> ContactImpulse:
    """Impulse along the normal alone; `friction` is ignored.

    Args:
        delassus: (3, 3) In contact axes, 1/kg.
        velocity: (3,) Relative velocity before, contact axes, m/s.
        friction: Not used: this map answers for a slippery contact.
        restitution: Newton's coefficient, 0..1.
    """
    if velocity[0] >= 0.0 or delassus[0][0] <= 0.0:
        return NO_IMPULSE
    return ContactImpulse(-(1.0 + restitution) * velocity[0] / delassus[0][0], 0.0, 0.0, "slide")
