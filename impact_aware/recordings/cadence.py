"""When samples were taken: the regular cadence of their source, the stamps, and the positions as a referee.

A source samples at a regular period and stamps late now and then. Sample number times period, plus the running median
of what the stamps have beyond it, is the cadence: single late stamps and short bursts vanish, clock steps stay edges. A
logger that polls its source stamps anywhere within a period, and repeats or loses samples: the positions count the
periods between two of them, and show over how many samples the cadence is best averaged.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, median_filter, uniform_filter1d

from impact_aware.arrays import Array
from impact_aware.estimation.sample_noise import lagrange_weights, noise_of

CADENCE = 15
"""Samples in the running median of the cadence: bursts of up to seven late stamps vanish."""

AVERAGED = 101
"""Samples over which the cadence is averaged where stamps scatter by much of a period."""

OFF, LEAST_OFF = 6.0, 5e-5
"""Distance of a stamp from the cadence beyond which it is an outlier: in standard deviations, and at least, s."""

SHARES = (0.25, 0.5, 0.75, 1.0)
"""Candidates for the share of the stamps' scatter that is error, besides 0 for a sampler that scatters itself."""

PAYS = 0.8
"""Share of the positions' variance that moving stamps to the cadence leaves at most, else they stay."""

FEWEST = 20
"""Samples from which a cadence is known."""

BESIDE, SECOND, ROUNDS = 6, 1, 3
"""Steps before and after a step, the place of one period's among them by size, as up to half may have more periods, and
rounds in which those are counted as well."""

MOST_PERIODS, CLEAR = 20, 0.2
"""Most periods that are counted in one step, and the part of a usual step by which it may miss their number: with steps
below the noise over that part, none are."""


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
    phase = _phase(times, positions)
    middle = median_filter(phase, CADENCE, mode="nearest")
    away = phase - middle
    scatter = 1.4826 * float(np.median(np.abs(away)))
    off = np.abs(away) > max(OFF * scatter, LEAST_OFF)
    regular = np.flatnonzero(~off)
    if len(regular) < FEWEST:
        return None
    std = np.zeros(len(times))
    if scatter > 1e-6:
        averaged = phase - uniform_filter1d(middle, AVERAGED, mode="nearest")
        share, away = _best(times, positions, regular, away, averaged)
        times = times - share * np.where(off, 0.0, away)
    regular = regular[np.diff(np.maximum.accumulate(times[regular]), prepend=-np.inf) > 0.0]
    if off.any() and len(regular) >= FEWEST:
        rows = np.flatnonzero(off)
        times = times.copy()
        times[rows], std[rows] = _beside_path(times, positions, regular, rows, away[rows])
    return Retimed(times, std, off, away)


def off_cadence(times: Array, positions: Array) -> Array:
    """Distance (k,) of each stamp (k,) of a regular source from its cadence, s."""
    phase = _phase(times, positions)
    return np.asarray(phase - median_filter(phase, CADENCE, mode="nearest"))


def _phase(times: Array, positions: Array) -> Array:
    """What stamps (k,) have beyond the periods that passed since the first one, s."""
    steps = np.diff(times)
    passed, unclear = _periods_passed(times, positions)
    period = float(np.median(steps))
    count = np.concatenate(([0.0], np.cumsum(passed)))
    if count[-1] > len(steps) or np.count_nonzero(steps <= 0.0) > 0.05 * len(steps):
        lag = min(AVERAGED, len(times) - 1)
        period = float(np.median((times[lag:] - times[:-lag]) / (count[lag:] - count[:-lag])))
    phase = (times - times[0]) - period * count
    for step in unclear.tolist():
        lost = phase[step + 1 :][: AVERAGED // 2].mean() - phase[: step + 1][-AVERAGED // 2 :].mean()
        phase[step + 1 :] -= period * np.rint(lost / period)
    return np.asarray(phase)


def _periods_passed(times: Array, positions: Array) -> tuple[Array, NDArray[np.intp]]:
    """Periods (k - 1,) between samples, by how far the arm went, 1 where that is unclear.

    Returns:
        Periods, and the places of steps that are unclear alone: those across a jump of the velocity.
    """
    steps = np.diff(positions, axis=0)
    passed = np.ones(len(steps))
    if len(steps) <= 2 * BESIDE:
        return passed, np.zeros(0, dtype=np.intp)
    least = float(np.linalg.norm(noise_of(times, positions).encoder)) / CLEAR
    between = 0.5 * (steps[:-2] + steps[2:])
    uneven = np.linalg.norm(steps[1:-1] - between, axis=1) > CLEAR * np.maximum(np.linalg.norm(between, axis=1), least)
    rows = np.flatnonzero(maximum_filter1d(np.pad(uneven, 1), 2 * BESIDE + 1))
    if not len(rows):
        return passed, rows
    beside = np.arange(-BESIDE, 0), np.arange(1, BESIDE + 1)
    places = [np.abs(len(steps) - 1 - np.abs(len(steps) - 1 - rows[:, None] - side)) for side in beside]
    own = steps[rows]
    for _ in range(ROUNDS):
        single = steps / passed[:, None]
        before, after = (_one_period(single[near]) for near in places)
        best, left = np.ones(len(rows)), np.full(len(rows), CLEAR)
        # Across a jump of the velocity, a step is like those on its own side. One back is to a sample out of order.
        for usual, fewest in ((0.5 * (before + after), -MOST_PERIODS), (before, 1), (after, 1)):
            length = np.maximum((usual**2).sum(axis=1), least**2)
            number = np.rint((own * usual).sum(axis=1) / length).clip(fewest, MOST_PERIODS)
            number[number == 0.0] = 1.0
            off = np.abs(own - number[:, None] * usual).max(axis=1) / np.sqrt(length)
            best, left = np.where(off < left, number, best), np.minimum(off, left)
        passed[rows] = best
    unclear = rows[left >= CLEAR]
    return passed, unclear[np.diff(unclear, prepend=-BESIDE) >= BESIDE]


def _one_period(steps: Array) -> Array:
    """The step (m, n) of one period among neighbouring steps (m, w, n) of one period or more."""
    return np.asarray(np.sign(np.median(steps, axis=1)) * np.partition(np.abs(steps), SECOND, axis=1)[:, SECOND])


def _best(times: Array, positions: Array, rows: NDArray[np.intp], away: Array, averaged: Array) -> tuple[float, Array]:
    """Share by which stamps of regular rows (m,) are wrong, and of which distance (k,) from the cadence."""
    stamps, path = times[rows], positions[rows]
    kept = best = _roughness(stamps, path)
    found = 0.0, away
    for share, distance in (*((share, away) for share in SHARES), (1.0, averaged)):
        moved = stamps - share * distance[rows]
        score = _roughness(moved, path) if (np.diff(moved) > 0.0).all() else np.inf
        if score < PAYS * kept and score < (PAYS if distance is averaged else 1.0) * best:
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
