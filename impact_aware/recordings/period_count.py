"""Periods of a regular source between samples, found over all samples together (Viterbi search).

A sample is some whole number of periods after the one before. Its stamp shows that number within a period, as a logger
polls at any time in it; the distance that the arm moved shows it too, where it exceeds the encoder's noise. One step of
either may mislead, so the numbers are those that fit all steps and all stamps best. A late stamp has a bounded cost;
where the arm rests, stamps decide alone.
"""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array
from impact_aware.compiled import CONSTANT_MATRIX, CONSTANT_VECTOR, DENSE_VECTOR, NUMBER, compiled
from impact_aware.estimation.sample_noise import noise_of

BACK, AHEAD = 8, 20
"""Most periods from one sample to the next, back where stamps put samples out of order."""

UNEVEN = 0.2
"""Share of a usual step by which one step is off where periods need to be counted."""

MISFIT, MOST_MISFIT = 0.1, 25.0
"""Standard deviation of a step about its number of usual ones, in usual ones, and the most that a misfit counts."""

BAND, PER_PERIOD, MOST_LATE = 0.55, 20.0, 12.0
"""Distance of a stamp from the middle of its period, in periods, that costs nothing; the cost of a period more, and the
most, in squared standard deviations."""

FOLLOWS = 0.02
"""Share by which the middle follows each stamp."""

BESIDE, SECOND, NEAR = 6, 1, 3
"""Steps before and after a step, the place of one period's among them by size, as up to half may have more periods; and
the samples of the usual step once periods are counted."""

PERIODS, TRIED, ROUNDS = np.linspace(0.9, 1.1, 68), 2048, 3
"""Periods that are tried, in median intervals, on how many samples, and rounds of search."""

STATES = 9
"""Numbers of periods that are considered at each sample."""


def periods_counted(times: Array, positions: Array) -> tuple[Array, Array, float]:
    """Number (k,) of the source's period at each sample, its standard error (k,), and the period, s.

    Stamps are (k,), s, and positions (k, n).

    The periods of a long gap, or of a step of the clock, are not searched: its length is rounded to whole ones.
    """
    steps = np.diff(times, prepend=times[:1])
    usual = float(np.median(steps[1:]))
    if usual <= 0.0:
        return np.arange(len(times), dtype=float), np.zeros(len(times)), usual
    missing = np.cumsum(np.where(steps > AHEAD * usual, steps - usual, 0.0))
    count, std, period = _counted(times - missing, positions)
    return count + np.rint(missing / period), std, period


def _counted(times: Array, positions: Array) -> tuple[Array, Array, float]:
    """Return the same for stamps of which none is more than `AHEAD` usual intervals after the one before."""
    count, std, period = np.arange(len(times), dtype=float), np.zeros(len(times)), float(np.median(np.diff(times)))
    steps = np.diff(positions, axis=0)
    if len(steps) <= 2 * BESIDE:
        return count, std, period
    noise = np.sqrt(2.0) * float(np.linalg.norm(noise_of(times, positions).encoder))
    between = 0.5 * (steps[:-2] + steps[2:])
    length = np.linalg.norm(between, axis=1)
    uneven = np.linalg.norm(steps[1:-1] - between, axis=1) > UNEVEN * np.maximum(length, noise / UNEVEN * 3.0)
    if not uneven.any():
        return count, std, _period(times, count)
    misfits = _misfits(steps, _usual_at_first(steps), noise)
    if np.count_nonzero(uneven) > 0.05 * np.count_nonzero(length > 3.0 * noise / UNEVEN):
        begin = int(np.argmax(np.convolve(length, np.ones(min(TRIED, len(length))), "valid")))
        part, cost = times[begin:][:TRIED], misfits[begin:][: TRIED - 1]
        period *= min((_search(part, cost, share * period)[2], share) for share in PERIODS.tolist())[1]
    for left in reversed(range(ROUNDS)):
        count, std, _ = _search(times, misfits, period)
        period = _period(times, count)
        if left:
            misfits = _misfits(steps, _usual(positions, count), noise)
    return count, std, period


def _period(times: Array, count: Array) -> float:
    """Median time of a period, s, between samples half of all apart; times (k,), s, and their numbers (k,)."""
    half = len(times) // 2
    return float(np.median((times[half:] - times[:-half]) / (count[half:] - count[:-half])))


def _usual_at_first(steps: Array) -> tuple[Array, Array]:
    """Steps (k - 1, n) of one period before and after each step (k - 1, n): the second smallest of some."""
    rows, last = np.arange(len(steps)), len(steps) - 1
    beside = np.arange(1, BESIDE + 1)
    near = (np.abs(last - np.abs(last - rows[:, None] - side)) for side in (-beside, beside))
    before, after = (
        np.sign(np.median(steps[places], axis=1)) * np.partition(np.abs(steps[places]), SECOND, axis=1)[:, SECOND]
        for places in near
    )
    return before, after


def _usual(positions: Array, count: Array) -> tuple[Array, Array]:
    """Steps (k - 1, n) of one period before and after each step, of positions (k, n) whose periods are counted (k,)."""
    rows = np.arange(len(count) - 1)
    first, last = np.maximum(rows - NEAR, 0), np.minimum(rows + 1 + NEAR, len(count) - 1)
    sides = []
    for begin, end in ((first, rows), (rows + 1, last)):
        periods = count[end] - count[begin]
        periods[np.abs(periods) < 1.0] = np.inf
        sides.append((positions[end] - positions[begin]) / periods[:, None])
    before, after = sides
    before[:NEAR], after[-NEAR:] = after[:NEAR], before[-NEAR:]
    return before, after


def _misfits(steps: Array, usual: tuple[Array, Array], noise: float) -> Array:
    """Squared distance (k - 1, m) of steps (k - 1, n) from `-BACK` to `AHEAD` usual ones, in variances.

    Across a jump of the velocity, a step is like those on its own side.
    """
    periods = np.arange(-BACK, AHEAD + 1.0)
    least = np.full((len(steps), len(periods)), MOST_MISFIT)
    own = (steps**2).sum(axis=1)[:, None]
    for one in (0.5 * (usual[0] + usual[1]), *usual):
        length, along = (one**2).sum(axis=1)[:, None], (one * steps).sum(axis=1)[:, None]
        variance = noise**2 + MISFIT**2 * length * np.maximum(np.abs(periods), 1.0)
        least = np.minimum(least, (own - 2.0 * periods * along + periods**2 * length) / variance)
    return least + np.where(periods < 0, 10.0, np.minimum(periods - 1.0, 3.0))


def _search(times: Array, misfits: Array, period: float) -> tuple[Array, Array, float]:
    """Number of each sample (k,) and its standard error (k,), for a period, s, and the cost of the whole sequence."""
    count, std = np.empty(len(times)), np.empty(len(times))
    cost = _viterbi((times - times[0]) / period, np.ascontiguousarray(misfits), count, std)
    return count - count[0], std, cost


@compiled(NUMBER, CONSTANT_VECTOR, CONSTANT_MATRIX, DENSE_VECTOR, DENSE_VECTOR)
def _viterbi(stamps: Array, misfits: Array, count: Array, std: Array) -> float:
    """Write the whole numbers of least cost for stamps (k,), in periods, into `count` (k,), and return that cost.

    Their standard errors `std` (k,) are those among the best sequences through each number that is considered.

    Each candidate sequence tracks its own middle of the period. The numbers that are considered at a sample lie around
    the one that the best sequence so far gives its stamp.
    """
    samples, half, lost = len(stamps), STATES // 2, 0.0
    first, origin = np.zeros(samples), np.zeros((samples, STATES), dtype=np.int8)
    cost, middle = np.full(STATES, np.inf), np.zeros(STATES)
    cost[half], first[0] = 0.0, -half
    costs, middles = np.full((samples, STATES), np.inf), np.zeros((samples, STATES))
    costs[0] = cost
    for sample in range(1, samples):
        first[sample] = np.rint(stamps[sample] - middle[np.argmin(cost)]) - half
        dearer, moved = np.full(STATES, np.inf), np.zeros(STATES)
        for state in range(STATES):
            number, away = first[sample] + state, 0.0
            for before in range(STATES):
                step = int(number - first[sample - 1] - before) + BACK
                if cost[before] == np.inf or step < 0 or step > BACK + AHEAD or step == BACK:
                    continue
                phase = stamps[sample] - number - middle[before]
                late = min(max(abs(phase) - BAND, 0.0) * PER_PERIOD, MOST_LATE)
                sum_of = cost[before] + misfits[sample - 1, step] + late
                if sum_of < dearer[state]:
                    dearer[state], origin[sample, state], away = sum_of, before, phase
            moved[state] = middle[origin[sample, state]] + FOLLOWS * min(max(away, -0.5), 0.5)
        least = dearer.min()
        if least == np.inf:
            # After a gap longer than any step that is considered, all begins anew.
            dearer[half], least = 0.0, 0.0
            origin[sample, half] = np.argmin(cost)
            moved[half] = middle[np.argmin(cost)]
        lost += least
        cost, middle = dearer - least, moved
        costs[sample], middles[sample] = cost, middle
    state, later = int(np.argmin(cost)), np.zeros(STATES)
    for back in range(samples):
        sample = samples - 1 - back
        count[sample] = first[sample] + state
        through = costs[sample] + later
        least, sum_of, spread = through.min(), 0.0, 0.0
        for other in range(STATES):
            share = np.exp(-0.5 * (through[other] - least))
            sum_of += share
            spread += share * (other - state) ** 2
        std[sample] = np.sqrt(spread / sum_of)
        state = int(origin[sample, state])
        if sample:
            cheaper = np.full(STATES, np.inf)
            for before in range(STATES):
                for after in range(STATES):
                    step = int(first[sample] + after - first[sample - 1] - before) + BACK
                    if step < 0 or step > BACK + AHEAD or step == BACK:
                        continue
                    phase = stamps[sample] - first[sample] - after - middles[sample - 1, before]
                    late = min(max(abs(phase) - BAND, 0.0) * PER_PERIOD, MOST_LATE)
                    cheaper[before] = min(cheaper[before], misfits[sample - 1, step] + late + later[after])
            least = cheaper.min()
            later = cheaper - least if least < np.inf else np.zeros(STATES)
    return lost
