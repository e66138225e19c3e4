"""Priors of the evidence: what joints, contacts and commands do, with the sizes and times that are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product, starmap

import numpy as np

from impact_aware.arrays import Array

CONTACT_TIMES = (0.0, 0.001, 0.002, 0.004, 0.007, 0.011, 0.016, 0.024, 0.036)
"""Candidates for the time in which a contact changes the velocity, s."""

HARD, TOUCHING_TWICE = CONTACT_TIMES[:5], CONTACT_TIMES[:7]
"""Contact times of one hard contact, and of tips that touch twice. Longer ones are soft contacts, which
only torques distinguish from an oscillation."""

CONTACT_TIME_SCALE = 0.005
"""Time over which the prior of a contact time falls by a factor e, s: arms' contacts take some milliseconds."""

RINGING_BAND = (12.0, 60.0)
"""Lowest and highest frequency of elastic joints, where nothing is known of those of the arm, Hz."""

DAMPING_RATIO = 0.03
"""Damping ratio of their oscillation; the geometric mean of 0.01 and 0.1."""

DAMPING_RATIOS = (0.015, 0.05, 0.15, 0.3)
"""Damping ratios of oscillations that are compared in detail: a strong contact damps them too."""

FINE_FREQUENCIES, SWING_RANK = 33, 24
"""Frequencies of these oscillations, 1.5 Hz apart: 0.2 s do not resolve finer ones; and columns for them."""

STIFF, STIFF_DAMPING = (100.0, 250.0), 0.25
"""Frequencies of stiff joints, Hz, and their damping ratio: what they do after an impact is over within two periods."""

BEGUN = 0.5
"""Velocity of the oscillation that an earlier jump began, rad/s."""


@dataclass(frozen=True, eq=False)
class Sizes:
    """Sizes of one joint's parts, all but noise and jump; compared by identity, as they are looked up often.

    Attributes:
        jerk: Spectral density of the jerk, rad^2/s^5.
        under_way: Velocity of an oscillation under way, rad/s.
        started: Velocity of an oscillation that the impact starts, rad/s.
        step: Standard deviation of a step of the acceleration, rad/s^2.
        carried: Standard deviation of a step of the motors' acceleration, rad/s^2.
        rattle: Spectral density of a jerk from the instant on, rad^2/s^5.
    """

    jerk: float
    under_way: float = 0.0
    started: float = 0.0
    step: float = 0.0
    carried: float = 0.0
    rattle: float = 0.0


JERKS = (50.0, 5e3, 5e5)
"""Candidates for the spectral density of the jerk, rad^2/s^5: of a planned motion, a controller that acts, a rattle."""

UNDER_WAY = (0.0, 0.03, 0.15, 0.8)
"""Candidates for the velocity of an oscillation under way, rad/s."""

STARTED = (0.0, 0.2, 1.0)
"""Candidates for the velocity of an oscillation that an impact starts, rad/s."""

STEPS = (0.0, 12.0)
"""Candidates for the standard deviation of a step of the acceleration, rad/s^2."""

CARRIED = 12.0
"""Standard deviation of a step that reaches the links through elastic joints, rad/s^2."""

JUMPS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Candidates for the standard deviation of a jump, rad/s; most impacts leave some joints alone."""

BEFORE = tuple(starmap(Sizes, product(JERKS, UNDER_WAY)))
"""What goes on before an instant whatever happens there."""

PLAIN = tuple(map(Sizes, JERKS))
"""Parts before an instant, of joints that don't swing."""

AT_STEPS = tuple(replace(size, step=step) for size, step in product(BEFORE, STEPS))
AT_CARRIED = (*BEFORE, *(replace(size, carried=CARRIED) for size in BEFORE))
AT_KINKS = tuple(
    replace(size, started=started, step=step)
    for size, started, step in product(BEFORE, STARTED, STEPS)
    if size.jerk < JERKS[-1]
)


def squares(size: Sizes) -> tuple[float, ...]:
    """What the covariance of each part is multiplied with, in the order of `Sizes`."""
    return (size.jerk, size.under_way**2, size.started**2, size.step**2, size.carried**2, size.rattle)


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
