"""When samples were taken: the regular cadence of their source, the stamps, and the positions as a referee.

A source samples at a regular period and stamps late now and then. Sample number times period, plus the running median
of what the stamps have beyond it, is the cadence: single late stamps and short bursts vanish, clock steps stay edges. A
logger that polls its source stamps anywhere within a period, and repeats or loses samples: periods are counted
(`period_count`), and where the positions are as smooth with evenly spaced samples, they are even.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from impact_aware.arrays import Array
from impact_aware.estimation.sample_noise import lagrange_weights, noise_of
from impact_aware.recordings.period_count import periods_counted

CADENCE = 15
"""Samples in the running median of the cadence: bursts of up to seven late stamps vanish."""

OFF, UNCERTAIN, LEAST_OFF = 6.0, 2.0, 5e-5
"""Distances of a stamp from the cadence beyond which it is an outlier, and beyond which positions decide about it: in
standard deviations, and at least, s."""

SHARES = (0.25, 0.5, 0.75, 1.0)
"""Candidates for the share of the stamps' scatter that is error, besides 0 for a sampler that scatters itself."""

PAYS = 0.8
"""Share of the positions' variance that moving stamps to the cadence leaves at most, else they stay."""

EVEN = 1.05
"""Share of the best of these variances up to which samples are taken to be evenly spaced."""

FEWEST = 20
"""Samples from which a cadence is known."""


@dataclass(frozen=True, eq=False)
class Retimed:
    """Instants of samples.

    Attributes:
        times: (k,) s.
        time_std: (k,) Standard errors beyond a common one, s.
        off: (k,) Whether a stamp is an outlier.
        away: (k,) Distance of the stamps from the cadence, s.
    """

    times: Array
    time_std: Array
    off: NDArray[np.bool_]
    away: Array = field(repr=False)


def on_cadence(times: Array, positions: Array) -> Retimed | None:
    """Instants of samples with stamps (k,), s, and positions (k, n), rad; None for fewer than `FEWEST` regular ones."""
    if len(times) < FEWEST:
        return None
    count, counted_std, period = periods_counted(times, positions)
    phase = (times - times[0]) - period * count
    middle = median_filter(phase, CADENCE, mode="nearest")
    away = phase - middle
    scatter = 1.4826 * float(np.median(np.abs(away)))
    off, uncertain = (np.abs(away) > max(limit * scatter, LEAST_OFF) for limit in (OFF, UNCERTAIN))
    regular = np.flatnonzero(~uncertain)
    if len(regular) < FEWEST:
        return None
    std = np.zeros(len(times))
    if scatter > 1e-6:
        even = phase - np.median(phase)
        share, best = _best(times, positions, regular, away, even)
        if best is even:
            return Retimed(times - even, period * counted_std, off, away)
        times = times - share * np.where(uncertain, 0.0, away)
    regular = regular[np.diff(np.maximum.accumulate(times[regular]), prepend=-np.inf) > 0.0]
    if uncertain.any() and len(regular) >= FEWEST:
        rows = np.flatnonzero(uncertain)
        times = times.copy()
        times[rows], std[rows] = _beside_path(times, positions, regular, rows, away[rows])
    return Retimed(times, std, off, away)


def off_cadence(times: Array, positions: Array) -> Array:
    """Distance (k,) of each stamp (k,) of a regular source from its cadence, s."""
    count, _, period = periods_counted(times, positions)
    phase = (times - times[0]) - period * count
    return np.asarray(phase - median_filter(phase, CADENCE, mode="nearest"))


def _best(times: Array, positions: Array, rows: NDArray[np.intp], away: Array, even: Array) -> tuple[float, Array]:
    """Share of a distance (k,), from the cadence or from `even` samples, by which stamps of rows (m,) are wrong."""
    stamps, path = times[rows], positions[rows]
    kept = best = _roughness(stamps, path)
    found = 0.0, away
    for share, distance in (*((share, away) for share in SHARES), (1.0, even)):
        moved, order = np.unique(stamps - share * distance[rows], return_index=True)
        score = _roughness(moved, path[order])
        if score < PAYS * kept and score < (EVEN if distance is even else 1.0) * best:
            best, found = score, (share, distance)
    return found


def _roughness(times: Array, positions: Array) -> float:
    """Median square of the positions' distance from the cubic through their neighbours, in the faster half, rad^2."""
    near = np.arange(2, len(times) - 2)[:, None] + np.array([-2, -1, 1, 2])
    weights = lagrange_weights(times[near], times[2:-2])
    left = positions[2:-2] - np.einsum("kw,kwn->kn", weights, positions[near])
    fast = np.abs(positions[4:] - positions[:-4]).max(axis=1)
    return float(np.median((left[fast >= np.median(fast)] ** 2).sum(axis=1)))


def _beside_path(
    times: Array, positions: Array, regular: NDArray[np.intp], rows: NDArray[np.intp], away: Array
) -> tuple[Array, Array]:
    """Times (m,) and their standard errors (m,), s, of rows (m,) whose stamps are `away` (m,) from the cadence.

    Each is between its stamp and the cadence, where the cubic through its regular neighbours passes its positions.
    """
    place = np.clip(np.searchsorted(regular, rows), 2, len(regular) - 2)
    near = regular[place[:, None] + np.arange(-2, 2)]
    cadence = times[rows] - away
    at_stamp, at_cadence = (
        np.einsum("kw,kwn->kn", lagrange_weights(times[near], moments), positions[near])
        for moments in (times[rows], cadence)
    )
    path, left = at_cadence - at_stamp, positions[rows] - at_stamp
    noise = noise_of(times[regular], positions[regular]).encoder
    length = ((path / noise) ** 2).sum(axis=1)
    share = np.where(length > 1.0, (left * path / noise**2).sum(axis=1) / np.maximum(length, 1.0), 1.0).clip(0.0, 1.0)
    misfit = (((left - share[:, None] * path) / noise) ** 2).mean(axis=1)
    spread = np.sqrt(np.maximum(misfit, 1.0) / np.maximum(length, 1.0)).clip(0.0, 0.5)
    return times[rows] - share * away, np.abs(away) * spread
