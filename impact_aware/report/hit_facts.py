"""Facts of one impact: the contact that was used, the contact point by the jump and the object, with errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.recordings.contact_check import ContactCheck
from impact_aware.recordings.object_hit import ObjectHit

UNKNOWN = "–"
"""What stands for a number that is not known."""


class Fact(NamedTuple):
    """One line of a list of facts."""

    name: str
    value: str


def number_text(value: float | None, digits: int) -> str:
    """Format a number with fixed digits and a typographic minus; -0.00 becomes 0.00, an unknown value `UNKNOWN`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = f"{value:.{digits}f}"
    return (text.lstrip("-") if float(text) == 0.0 else text).replace("-", "\u2212")


def contact_facts(check: ContactCheck | None) -> Iterator[Fact]:
    """Contact point as estimated from the jump."""
    if check is None:
        return
    x, y, z = (number_text(value, 3) for value in check.fit.point)
    near = f"{100 * check.distance:.1f} ± {100 * check.distance_error:.1f} cm from the assumed one"
    shares = (
        f"unexplained {100 * check.fit.unexplained:.0f} % there, {100 * check.unexplained:.0f} % at the assumed one"
    )
    verdict = {"agrees": "agrees with the jump", "another_point": "another point fits far better"}
    yield Fact("contact point, tested", verdict.get(check.verdict, "not determined by the jump"))
    yield Fact("contact point, from the jump", f"({x}, {y}, {z}) m in {check.fit.frame}, {near}; {shares}")


def object_facts(hit: ObjectHit | None) -> Iterator[Fact]:
    """What the track of the object shows."""
    if hit is None:
        return
    motion = hit.motion
    offset, error = 1e3 * hit.clock_offset, 1e3 * motion.onset_error
    clock = "its clock agrees" if motion.same_clock else "it has a clock of its own"
    side = "after" if offset >= 0.0 else "before"
    yield Fact("object began to move", f"{abs(offset):.1f} ± {error:.1f} ms {side} the impact; {clock}")
    yield Fact("object before", f"{_with_error(motion.velocity_before, motion.velocity_before_error)} m/s")
    yield Fact("object after", f"{_with_error(motion.velocity_after, motion.velocity_after_error)} m/s")
    if np.isfinite(motion.turn_after).all():
        yield Fact("object turned", f"{_with_error(motion.turn_after - motion.turn_before, motion.turn_error)} rad/s")
    if hit.restitution is not None:
        yield Fact("restitution, measured", f"{number_text(hit.restitution, 2)} ± {hit.restitution_error:.2f}")
    if hit.momentum is not None and hit.momentum_error is not None:
        yield Fact("momentum gained", f"{_with_error(hit.momentum, hit.momentum_error)} N s")
    if hit.impulse_lost is not None and hit.impulse_lost_error is not None:
        yield Fact("impulse lost by the arm", f"{_with_error(hit.impulse_lost, hit.impulse_lost_error)} N s")
    if hit.mass_shown is not None:
        mass = f"{hit.mass_shown:.2f} ± {hit.mass_shown_error:.2f} kg"
        yield Fact("object's mass, from both", f"{mass}, the arm's inertia aside")


def _with_error(values: Array, errors: Array) -> str:
    pairs = zip(values, errors, strict=True)
    return "(" + ", ".join(f"{number_text(value, 3)} ± {error:.3f}" for value, error in pairs) + ")"
