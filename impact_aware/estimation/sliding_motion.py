"""How fast an object slid off after a hit: what it slides on brakes it against its motion, until it rests.

Six numbers of where it was and how it moved before and three of the velocity after, with the deceleration and the
onset, which are held by what is known of them. A track on which the deceleration is none shows an object that
something still pushes: then less of it is looked at.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import OptimizeResult, least_squares
from scipy.stats import chi2

from impact_aware.arrays import Array

AFTER = (0.09, 0.065, 0.045, 0.03)
"""Lengths of the track after the onset, s: the longest on which the object only slides is used."""

BRAKING = (3.0, 2.0)
"""Deceleration by what it slides on, m/s^2: friction of 0.3, and its spread."""

LEAST_BRAKING = 1.0
"""Deceleration below which something pushes the object on, m/s^2; a slippery table is looked at as briefly."""

SLOWEST = 0.02
"""Speed after the hit below which an object's track does not show its braking, m/s."""

ROCKING = 0.008
"""By which an object that slides on its corners and edges rocks meanwhile, m/s."""

CHANCE = 0.05
"""Probability of what a fit leaves, below which the object did something else than slide."""

_FEWEST = 4
"""Samples after the hit."""

_BESIDE = 0.001
"""Beside the onset, which is not known to less, s."""


def sliding_motion(
    times: Array,
    positions: Array,
    noise: float,
    onset: tuple[float, float],
    *,
    velocity: Array,
    settled: float,
    end: float,
) -> SlidingMotion | None:
    """Fit a track about a hit; None where the object did something else than slide, or hardly moved.

    Args:
        times: (k,) Since the hit, s.
        positions: (k, 3) Of the centre, m.
        noise: Of the positions, m.
        onset: Of the motion after the hit, and its standard error, s.
        velocity: (3,) About how fast it left, m/s.
        settled: How long after the onset the contact pushes, s.
        end: When something else happens, s.
    """
    if np.linalg.norm(velocity) < SLOWEST:
        return None
    fits: list[SlidingMotion] = []
    for length in AFTER:
        near = times <= min(length, end)
        fit = SlidingMotion(times[near], positions[near], noise, onset, velocity, settled)
        if fit.samples < _FEWEST:
            break
        fits.append(fit)
    place = next((place for place, fit in enumerate(fits) if fit.only_slides), None)
    if place is None:
        return None
    chosen, shorter = fits[place], fits[min(place + 1, len(fits) - 1)]
    # How much hangs on the length of the track counts, too.
    chosen.error = np.hypot(np.hypot(chosen.error, ROCKING), shorter.velocity - chosen.velocity)
    return chosen


class SlidingMotion:
    """One fit of an object that slides.

    Attributes:
        velocity: (3,) When the contact was over, m/s.
        error: (3,) Its standard error, m/s.
        window: Length of the track after the hit, s.
        samples: After the hit.
        only_slides: Whether the object slides to the end of the track, and is braked.
    """

    def __init__(
        self,
        times: Array,
        positions: Array,
        noise: float,
        onset: tuple[float, float],
        velocity: Array,
        settled: float,
    ) -> None:
        """Fit the track up to its end; with fewer samples than four only their number is known."""
        self._times, self._positions, self._noise, self._onset = times, positions, noise, onset
        # While the contact pushes, the object is on neither branch.
        before, after = times < onset[0] - _BESIDE, times > onset[0] + settled + _BESIDE
        self._counted = before | after
        self.samples, self.window = int(np.count_nonzero(after)), float(times[-1] - onset[0])
        if self.samples < _FEWEST:
            return
        start = np.concatenate((positions[before].mean(axis=0), np.zeros(3), velocity, [BRAKING[0], onset[0]]))
        scale = [0.1] * 9 + [1.0, 0.002]
        found: OptimizeResult = least_squares(self._residuals, start, x_scale=scale, max_nfev=40)
        self.velocity: Array = found.x[6:9]
        self.error: Array = np.sqrt(np.diag(np.linalg.pinv(found.jac.T @ found.jac))[6:9])
        left = self._left(found.x)[after]
        slides = float(np.sum(left**2)) < float(chi2.isf(CHANCE, left.size))
        self.only_slides = slides and float(found.x[9]) > LEAST_BRAKING

    def _left(self, unknowns: Array) -> Array:
        """What the fit leaves at each sample, over the noise (k, 3)."""
        place, before, after = unknowns[:3], unknowns[3:6], unknowns[6:9]
        since = self._times - float(unknowns[10])
        speed, braking = max(float(np.linalg.norm(after)), 1e-9), max(float(unknowns[9]), 1e-3)
        slid = np.clip(since, 0.0, speed / braking)[:, None]
        way = place + np.minimum(since, 0.0)[:, None] * before + after * (slid - 0.5 * braking / speed * slid**2)
        return np.asarray((self._positions - way) / self._noise)

    def _residuals(self, unknowns: Array) -> Array:
        held = [(unknowns[9] - BRAKING[0]) / BRAKING[1], (unknowns[10] - self._onset[0]) / self._onset[1]]
        return np.concatenate((self._left(unknowns)[self._counted].ravel(), held))
