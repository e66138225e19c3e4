"""Slip under friction: as a power series where it turns, and its direction where it settles or leaves rest.

Plain arithmetic, which `compiled_maps` translates.

In tangents along the eigenvectors of the tangential Delassus block, and in a time tau with dp = |v| d(tau) for the
normal impulse p, slip v follows dv = (a |v| - m v) d(tau): no singularity at rest, however sharply the slip turns where
it nearly stops. Its Taylor series comes from recurrences, that of |v| from v . v = |v|^2, and with it those of the
impulse (the integrals of |v| and of v) and of the slip's work (the integral of |v|^2).
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence
from typing import TypeAlias

from impact_aware.arrays import Array

ORDER = 16
"""Highest power of the slip's series; its sixteenth root is four square roots."""

# Integrals over tau of the slip's size, its components (2) and its square, one after the other: ORDER + 1 coefficients
# each, those of tau, tau^2, ...
Series: TypeAlias = MutableSequence[float] | Array

_X, _Y, _SQUARE = ORDER + 1, 2 * (ORDER + 1), 3 * (ORDER + 1)
SERIES_LENGTH = 4 * (ORDER + 1)


def expand(
    slip: float, s_1: float, s_2: float, a_1: float, a_2: float, m_1: float, m_2: float,
    tolerance: float, weight: float, series: Series,
) -> float:  # fmt: skip
    """Fill the series of the slip `slip` (s_1, s_2), |s| = 1, and return how long it holds.

    The time tau is in units in which a and m are given. `tolerance` is the error allowed at the end, over `slip`;
    that of the square, over its first value, counts with `weight`.
    """
    series[0], series[_X], series[_Y], series[_SQUARE] = 1.0, s_1, s_2, 1.0
    size, x, y, last, before = 1.0, s_1, s_2, 0.0, 0.0
    for k in range(1, ORDER + 1):
        share = 1.0 / k
        x, y = share * (a_1 * size - m_1 * x), share * (a_2 * size - m_2 * y)
        # Half the sums over i + j = k without the two ends, of v_i . v_j and of |v|_i |v|_j; newest terms last.
        half, outer, inner = k // 2, 0.0, 0.0
        if k % 2 == 0:
            x_i, y_i, size_i = series[_X + half], series[_Y + half], series[half]
            outer, inner = 0.5 * (x_i * x_i + y_i * y_i), 0.5 * size_i * size_i
            half -= 1
        for i in range(half, 0, -1):
            outer += series[_X + i] * series[_X + k - i] + series[_Y + i] * series[_Y + k - i]
            inner += series[i] * series[k - i]
        size = s_1 * x + s_2 * y + (outer - inner)
        series[k], series[_X + k], series[_Y + k], series[_SQUARE + k] = size, x, y, 2.0 * (size + inner)
        last, before = max(abs(x), abs(y), abs(size), 2.0 * weight * abs(size + inner)), last
    # The last coefficient may happen to vanish; that of a series that converges everywhere falls by 1 / ORDER at most.
    last = max(last, before / ORDER)
    for k in range(ORDER + 1):
        share = slip / (k + 1)
        series[k], series[_X + k], series[_Y + k] = share * series[k], share * series[_X + k], share * series[_Y + k]
        series[_SQUARE + k] *= slip * share
    return math.sqrt(math.sqrt(math.sqrt(math.sqrt(tolerance / last))))


def integrals(series: Series, time: float) -> tuple[float, float, float, float]:
    """Integrals from 0 to `time` of the slip's size, its components (2) and its square."""
    # Even and odd powers apart, which a processor works on at once.
    squared = time * time
    even_0, even_1, even_2, even_3 = series[ORDER], series[_X + ORDER], series[_Y + ORDER], series[_SQUARE + ORDER]
    odd_0, odd_1, odd_2, odd_3 = 0.0, 0.0, 0.0, 0.0
    for k in range(ORDER - 1, 0, -2):
        odd_0, even_0 = odd_0 * squared + series[k], even_0 * squared + series[k - 1]
        odd_1, even_1 = odd_1 * squared + series[_X + k], even_1 * squared + series[_X + k - 1]
        odd_2, even_2 = odd_2 * squared + series[_Y + k], even_2 * squared + series[_Y + k - 1]
        odd_3, even_3 = odd_3 * squared + series[_SQUARE + k], even_3 * squared + series[_SQUARE + k - 1]
    return (
        time * (even_0 + time * odd_0),
        time * (even_1 + time * odd_1),
        time * (even_2 + time * odd_2),
        time * (even_3 + time * odd_3),
    )


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


TRANSLATED = expand, integrals, settled_direction, departure
"""The functions that `compiled_maps` translates."""
