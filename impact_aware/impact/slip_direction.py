"""Directions of slip that a contact keeps, or in which it leaves rest; plain arithmetic, which `coulomb` compiles."""

from __future__ import annotations

import math


def settled_direction(s_1: float, s_2: float, a_1: float, a_2: float, difference: float) -> tuple[float, float]:
    """The slip direction (2) near `s` that no longer turns, by Newton's method on the angle."""
    for _ in range(5):
        turning = s_1 * a_2 - s_2 * a_1 - difference * s_1 * s_2
        angle = turning / (a_1 * s_1 + a_2 * s_2 + difference * (s_1 * s_1 - s_2 * s_2))
        s_1, s_2 = s_1 - angle * s_2, s_2 + angle * s_1
        length = math.sqrt(s_1 * s_1 + s_2 * s_2)
        s_1, s_2 = s_1 / length, s_2 / length
        if abs(angle) < 1e-8:
            break
    return s_1, s_2


def departure(a_1: float, a_2: float, m_1: float, m_2: float) -> tuple[float, float]:
    """Direction (2) in which a contact that can't stick leaves rest: a - m s = growth s with growth > 0, |s| = 1."""
    growth = max(math.sqrt(a_1 * a_1 + a_2 * a_2) - max(m_1, m_2), 1e-12 * (m_1 + m_2))
    s_1, s_2 = a_1 / (m_1 + growth), a_2 / (m_2 + growth)
    for _ in range(50):
        # Newton's method on 1 / |s| = 1, which is concave in the growth: from below it never overshoots.
        squared = s_1 * s_1 + s_2 * s_2
        length = math.sqrt(squared)
        change = (length - 1.0) * squared / (s_1 * s_1 / (m_1 + growth) + s_2 * s_2 / (m_2 + growth))
        growth += change
        s_1, s_2 = a_1 / (m_1 + growth), a_2 / (m_2 + growth)
        if abs(change) <= 1e-15 * growth:
            break
    length = math.sqrt(s_1 * s_1 + s_2 * s_2)
    return s_1 / length, s_2 / length


TRANSLATED = settled_direction, departure
"""The functions that `compiled_maps` translates."""
