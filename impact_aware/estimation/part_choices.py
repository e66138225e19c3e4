"""The sizes of the parts of `BranchModel` that are tried: one or the other makes the samples most likely."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product, starmap

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.motion_parts import Sizes, squares

CONTACT_TIMES = (0.0, 0.001, 0.002, 0.004, 0.007)
"""Candidates for the time in which a contact changes the velocity, s."""

LONG_CONTACT_TIMES = (0.011, 0.016)
"""More of them where the drive was measured: else an oscillation can't be told from a contact as long as that, s."""

CONTACT_TIME_SCALE = 0.003
"""Time over which the prior of a contact time falls by a factor e, s."""

JERKS = (50.0, 5e3, 5e5)
"""Candidates for the spectral density of the jerk, rad^2/s^5: of a planned motion, a controller that acts, a rattle."""

UNDER_WAY = (0.0, 0.03, 0.15, 0.8)
"""Candidates for the velocity of an oscillation under way, rad/s."""

STARTED = (0.0, 0.2, 1.0)
"""Candidates for the velocity of an oscillation that an impact starts, rad/s."""

STEPS = (0.0, 12.0)
"""Candidates for the standard deviation of a step of the acceleration, rad/s^2."""

CARRIED = 12.0
"""The same of one that reaches the links through elastic joints, rad/s^2."""

JUMPS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Candidates for the standard deviation of a jump, rad/s; most impacts leave some joints alone."""

BEFORE = tuple(starmap(Sizes, product(JERKS, UNDER_WAY)))
"""What goes on before an instant whatever happens there."""

PLAIN = tuple(map(Sizes, JERKS))
"""The same of joints that don't swing."""

AT_STEPS = tuple(replace(size, step=step) for size, step in product(BEFORE, STEPS))
AT_CARRIED = (*BEFORE, *(replace(size, carried=CARRIED) for size in BEFORE))
AT_KINKS = tuple(
    replace(size, started=started, step=step)
    for size, started, step in product(BEFORE, STARTED, STEPS)
    if size.jerk < JERKS[-1]
)


@lru_cache(maxsize=8)
def squares_of(choices: tuple[Sizes, ...]) -> Array:
    """`squares` of each choice, one a row."""
    return np.array([squares(size) for size in choices])


@lru_cache(maxsize=8)
def without_drive(choices: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
    """What is left of these where the drive is taken off: swings of a tenth; a contact may rattle from then on."""
    left = tuple(size for size in choices if size.under_way <= UNDER_WAY[1])
    if choices != AT_KINKS:
        return left
    quick = (replace(size, jerk=JERKS[-1]) for size in left if size.jerk == JERKS[-2])
    return (*left, *(replace(size, rattle=JERKS[-1]) for size in left), *quick)
