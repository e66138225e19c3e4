"""Streamlines of a velocity field, for plots and markers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError


def streamline(
    velocity: Callable[[Array], Array],
    start: ArrayLike,
    *,
    duration: float = 2.0,
    step: float = 0.01,
    stop: Callable[[Array], bool] | None = None,
) -> Array:
    """Follow a field from a start position with the classical fourth-order Runge-Kutta scheme.

    Args:
        velocity: The field: position (3,), m, to velocity (3,), m/s.
        start: (3,) m.
        duration: s.
        step: s.
        stop: Ends the line at the first position where it is true.

    Returns:
        (m, 3) Positions along the line, the start first.

    Raises:
        InvalidInputError: A duration or step that is not positive.
    """
    for name, value in (("duration", duration), ("step", step)):
        if not value > 0.0:
            raise InvalidInputError(name, value, "a time > 0 s")
    positions = [np.array(start, dtype=float)]
    for _ in range(int(np.ceil(duration / step))):
        here = positions[-1]
        if stop is not None and stop(here):
            break
        first = velocity(here)
        second = velocity(here + 0.5 * step * first)
        third = velocity(here + 0.5 * step * second)
        fourth = velocity(here + step * third)
        positions.append(here + step / 6.0 * (first + 2.0 * second + 2.0 * third + fourth))
    return np.array(positions)
