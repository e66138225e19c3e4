"""Cleaning of recorded samples before any analysis: order, copies, second publishers, stamps, held and wrong values.

A source samples at a regular cadence and stamps late now and then. The cadence is the running median of the stamps less
the sample number times the period: lost samples and clock steps stay edges in it, single late stamps and short bursts
vanish. The positions show whether scattered stamps or the cadence are when samples were taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from impact_aware.arrays import Array
from impact_aware.detection.input_monitor import source_quality
from impact_aware.detection.second_publisher import foreign_rows
from impact_aware.estimation.sample_noise import lagrange_weights, noise_of, spikes
from impact_aware.recordings.arm_samples import ArmSamples, joined
from impact_aware.recordings.input_faults import InputFaults

BLOCK, MARGIN = 8192, 64
"""Samples that are cleaned at a time, and samples on either side of them that are looked at with them."""

MOST_DISPLACED = 8
"""Messages by which one may be out of order; stamps that stay behind for longer have stepped back."""

PAUSE = 0.1
"""Time without samples beyond which the motion in between is unknown, s."""

STILL_STEP = 2e-5
"""A joint that moved more than this in a sample can't repeat its position in the next one, rad."""

TURN_SLACK, TURN_PERIOD = 0.5, 0.03
"""Distance from a whole turn within which a step is one, rad: no joint moves as far in a sample. Longest time between
samples in which a whole turn can be no motion, s."""

CADENCE = 15
"""Samples in the running median of the cadence: bursts of up to seven late stamps vanish."""

OFF, LEAST_OFF = 6.0, 5e-5
"""Distance of a stamp from the cadence beyond which it is an outlier: in standard deviations, and at least, s."""

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Candidates for the share of the stamps' scatter that is error: 0 for a sampler that scatters itself."""

PAYS = 0.8
"""Share of the positions' variance that moving stamps to the cadence leaves at most, else they stay."""

ALONE = 0.05
"""Share of a wrong position by which its neighbours may be off once it is replaced."""

GAP = 2.5
"""Periods from which a time without samples is noted: two lost samples, as one may be a late stamp."""

FEWEST = 20
"""Samples from which a cadence is known."""

SURVEYED, MOST_SURVEYS = 500, 20
"""Samples of one test of the source's quality, and the most tests."""


class InputStage:
    """Turns the samples of one arm, as recorded, into clean ones.

    Attributes:
        faults: Faults found so far.
    """

    def __init__(self) -> None:
        """Begin with no sample."""
        self.faults = InputFaults()
        self._waiting: list[ArmSamples] = []
        self._count = self._given = 0
        self._known: list[Array] = []
        self._last: tuple[float, Array, Array] | None = None
        self._reasons: list[str | None] = []

    @property
    def quality(self) -> str | None:
        """Why impacts can't be seen reliably, in most of the stretches looked at, or None when they can."""
        reasons = [reason for reason in self._reasons if reason is not None]
        return reasons[-1] if len(reasons) > 0.5 * len(self._reasons) else None

    def feed(self, samples: ArmSamples) -> list[ArmSamples]:
        """Take samples (k,) in the order of the recording; returns those that are clean, in stretches.

        Stamps increase within a stretch; between stretches the clock has stepped.
        """
        self._waiting.append(samples)
        self._count += len(samples.times)
        return self._clean(MARGIN) if self._count >= BLOCK + 2 * MARGIN else []

    def finish(self) -> list[ArmSamples]:
        """Return the rest: no more samples come."""
        return self._clean(0) if self._count else []

    def _clean(self, ahead: int) -> list[ArmSamples]:
        """Clean all that waits; the last `ahead` samples wait on, as context and to be returned later."""
        raw = joined(self._waiting)
        count = len(raw.times)
        period = _period(raw.times)
        order, edges = _ordered(raw.times, raw.positions, period)
        fresh = np.arange(count) >= self._given
        fresh &= np.arange(count) < count - ahead
        faults = self.faults
        faults.seen += int(np.count_nonzero(fresh))
        faults.sorted += int(np.count_nonzero(fresh & (np.maximum.accumulate(order) > order)))
        faults.backwards += int(np.count_nonzero(fresh[1:] & (np.diff(raw.times) < 0.0)))
        raw = raw.rows(order)
        for edge in edges:
            if fresh[edge]:
                before, after = raw.times[[edge - 1, edge]].tolist()
                faults.steps.append((before, after - before - period))
        parts = []
        for begin, end in zip((0, *edges), (*edges, count), strict=True):
            part = self._stretch(raw.rows(slice(begin, end)), fresh[begin:end])
            if len(part.times):
                parts.append(part)
        keep = max(0, count - ahead - MARGIN) if ahead else count
        self._waiting, self._count, self._given = [raw.rows(slice(keep, None))], count - keep, count - ahead - keep
        return parts

    def _stretch(self, samples: ArmSamples, fresh: NDArray[np.bool_]) -> ArmSamples:
        """Samples between two steps of the clock, clean, of the rows marked as `fresh` (k,)."""
        faults = self.faults
        foreign, wrong, self._known = foreign_rows(samples.times, samples.positions, self._known)
        if foreign.any():
            faults.foreign += int(np.count_nonzero(foreign & fresh))
            faults.constant &= all(_is_one_of(row, self._known) for row in samples.positions[foreign & fresh][:20])
        faults.wrong += int(np.count_nonzero(wrong & fresh))
        samples, fresh = _kept(samples, fresh, ~(foreign | wrong))
        if not fresh.any():
            return samples.rows(fresh)
        positions, turned = self._unwrapped(samples.times, samples.positions, fresh)
        samples = replace(samples, positions=positions)
        copies = np.zeros(len(fresh), dtype=bool)
        copies[1:] = (np.diff(samples.times) == 0.0) & (np.diff(samples.positions, axis=0) == 0.0).all(axis=1)
        faults.copies += int(np.count_nonzero(copies & fresh))
        samples, fresh = _kept(samples, fresh, ~copies)
        self._survey(samples)
        held = _held(samples.positions)
        faults.held += int(np.count_nonzero(held & fresh))
        samples, fresh = _kept(samples, fresh, ~held)
        samples = self._on_clock(samples, fresh)
        later = np.concatenate(([True], np.diff(np.maximum.accumulate(samples.times)) > 0.0)) if len(fresh) else fresh
        faults.copies += int(np.count_nonzero(~later & fresh))
        samples, fresh = _kept(samples, fresh, later)
        samples = self._without_spikes(samples, fresh)
        return self._carried_on(samples.rows(fresh), turned)

    def _survey(self, samples: ArmSamples) -> None:
        """Test the source's quality on some samples; the distance between two tests doubles."""
        if len(self._reasons) >= MOST_SURVEYS or self.faults.seen < SURVEYED * (2 ** len(self._reasons) // 2):
            return
        times, positions = samples.times[:SURVEYED], samples.positions[:SURVEYED]
        if len(times) >= FEWEST:
            self._reasons.append(source_quality(times - off_cadence(times), positions).reason)

    def _on_clock(self, samples: ArmSamples, fresh: NDArray[np.bool_]) -> ArmSamples:
        """Move stamps that are off the cadence to where the positions have them."""
        times, positions = samples.times, samples.positions
        if len(times) < FEWEST:
            return samples
        away = off_cadence(times)
        steps = np.diff(times - away)
        gaps = np.flatnonzero(fresh[1:] & (steps > GAP * np.median(steps)))
        self.faults.gaps += len(gaps)
        self.faults.longest = max([self.faults.longest, *zip(steps[gaps].tolist(), times[gaps].tolist(), strict=True)])
        scatter = 1.4826 * float(np.median(np.abs(away)))
        off = np.abs(away) > max(OFF * scatter, LEAST_OFF)
        regular = np.flatnonzero(~off)
        if len(regular) < FEWEST:
            return samples
        if scatter > 1e-6:
            times = times - _share(times[regular], positions[regular], away[regular]) * np.where(off, 0.0, away)
        std = np.zeros(len(times))
        regular = regular[np.diff(np.maximum.accumulate(times[regular]), prepend=-np.inf) > 0.0]
        if off.any() and len(regular) >= FEWEST:
            rows = np.flatnonzero(off)
            times = times.copy()
            times[rows], std[rows] = _retimed(times, positions, regular, rows, away[rows])
            self.faults.late += int(np.count_nonzero(off & fresh))
            self.faults.latest = max(self.faults.latest, float(np.abs(away[off & fresh]).max(initial=0.0)))
        return replace(samples, times=times, time_std=std)

    def _without_spikes(self, samples: ArmSamples, fresh: NDArray[np.bool_]) -> ArmSamples:
        """Replace single positions that are wrong by the cubic through their neighbours."""
        if len(samples.times) < FEWEST:
            return samples
        noise = noise_of(samples.times, samples.positions).encoder
        rows, joints, errors = spikes(samples.times, samples.positions, noise, ALONE)
        if not len(rows):
            return samples
        self.faults.wrong += int(np.count_nonzero(fresh[rows]))
        positions = samples.positions.copy()
        positions[rows, joints] -= errors
        return replace(samples, positions=positions)

    def _unwrapped(self, times: Array, positions: Array, fresh: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Carry angles on that begin anew after a turn, as drivers of joints without an end count them.

        Returns:
            Positions (k, n), unchanged at the first fresh sample, and what was added at the last one (n,).
        """
        first, last = np.flatnonzero(fresh)[[0, -1]]
        turns = _turns(np.diff(times), np.diff(positions, axis=0))
        self.faults.turns += int(np.count_nonzero(turns[first:last]))
        carried = np.zeros_like(positions)
        carried[1:] = -2.0 * np.pi * np.cumsum(turns, axis=0)
        carried -= carried[first]
        return positions + carried, carried[last]

    def _carried_on(self, samples: ArmSamples, turned: Array) -> ArmSamples:
        """Carry angles on from the stretch before."""
        if not len(samples.times):
            return samples
        shift = np.zeros(samples.positions.shape[1])
        if self._last is not None:
            time, position, shift = self._last
            step = samples.positions[0] + shift - position
            turns = _turns(samples.times[:1] - time, step[None, :])[0]
            self.faults.turns += int(np.count_nonzero(turns))
            shift = shift - 2.0 * np.pi * turns
            samples = replace(samples, positions=samples.positions + shift)
        self._last = float(samples.times[-1]), samples.positions[-1], shift + turned
        return samples


def cleaned(parts: Sequence[ArmSamples]) -> list[ArmSamples]:
    """Clean stretches of a whole recording, whose samples come in parts."""
    stage = InputStage()
    return [clean for part in parts for clean in stage.feed(part)] + stage.finish()


def off_cadence(times: Array) -> Array:
    """Distance (k,) of each stamp (k,) of a regular source from its cadence, s."""
    steps = np.diff(times)
    period = float(np.median(steps))
    if np.count_nonzero(steps <= 0.0) > 0.05 * len(steps):
        lag = min(CADENCE, len(times) - 1)
        period = float(np.median(times[lag:] - times[:-lag])) / lag
    phase = (times - times[0]) - period * np.arange(len(times))
    return np.asarray(phase - median_filter(phase, CADENCE, mode="nearest"))


def _share(times: Array, positions: Array, away: Array) -> float:
    """Share of the distances `away` (k,) from the cadence by which stamps (k,) are wrong, by positions (k, n)."""
    scores: list[float] = []
    for share in SHARES:
        moved = times - share * away
        if (np.diff(moved) <= 0.0).any():
            scores.append(np.inf if share == 0.0 else scores[0])
            continue
        left, _ = _apart(moved, positions, np.arange(2, len(times) - 2))
        fast = np.abs(positions[4:] - positions[:-4]).max(axis=1)
        some = fast >= np.median(fast)
        scores.append(float(np.median((left[some] ** 2).sum(axis=1))))
    best = int(np.argmin(scores))
    return SHARES[best] if scores[best] < PAYS * scores[0] else 0.0


def _apart(times: Array, positions: Array, rows: NDArray[np.intp]) -> tuple[Array, Array]:
    """Distance (m, n) of rows (m,) from the cubic through their four neighbours, and the neighbours' weights (m, 4)."""
    near = rows[:, None] + np.array([-2, -1, 1, 2])
    weights = lagrange_weights(times[near], times[rows])
    return positions[rows] - np.einsum("kw,kwn->kn", weights, positions[near]), weights


def _retimed(
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


def _period(times: Array) -> float:
    """Time between two samples, s; 0 where stamps never increase."""
    steps = np.diff(times)
    forward = steps[steps > 0.0]
    return float(np.median(forward)) if len(forward) else 0.0


def _ordered(times: Array, positions: Array, period: float) -> tuple[NDArray[np.intp], list[int]]:
    """Order (k,) of the samples by stamp, and the places in that order before which the clock stepped."""
    steps = np.diff(times)
    edges = []
    begin = 0
    for place in (np.flatnonzero((steps < 0.0) | (steps > PAUSE)) + 1).tolist():
        if place <= begin:
            continue
        if steps[place - 1] < 0.0:
            ahead = times[place : place + MOST_DISPLACED + 1]
            latest = float(times[begin:place][-MOST_DISPLACED - 1 :].max())
            stepped = times[place] < latest and not (ahead > latest).any()
            # Where the recording ends, a message that is a little late is no step of the clock.
            stepped &= len(ahead) > MOST_DISPLACED or latest - times[place] > MOST_DISPLACED * period
        else:
            stepped = _goes_on(times, positions, place, period)
        if stepped:
            edges.append(place)
            begin = place
    order = np.arange(len(times))
    for first, last in zip((0, *edges), (*edges, len(times)), strict=True):
        if (steps[first : last - 1] < 0.0).any():
            order[first:last] = first + np.argsort(times[first:last], kind="stable")
    return order, edges


def _goes_on(times: Array, positions: Array, place: int, period: float) -> bool:
    """Whether the motion goes on across a step of the stamps before a place as if one period had passed."""
    if place < 4 or place + 3 >= len(times):
        return False
    before = (positions[place - 1] - positions[place - 4]) / 3.0
    after = (positions[place + 3] - positions[place]) / 3.0
    moved, pace = positions[place] - positions[place - 1], 0.5 * (before + after)
    speed = np.abs(pace).max()
    periods = (times[place] - times[place - 1]) / period
    most = min(0.5 * speed + STILL_STEP, 0.05 * periods * speed)
    return bool(speed > STILL_STEP and np.abs(moved - pace).max() < most)


def _held(positions: Array) -> NDArray[np.bool_]:
    """Rows (k,) that repeat the one before while the arm moves."""
    held = np.zeros(len(positions), dtype=bool)
    if len(positions) < 3:
        return held
    steps = np.abs(np.diff(positions, axis=0)).max(axis=1)
    # The speed there, from the samples around, since the held one itself shows none.
    around = np.maximum(np.concatenate(([0.0], steps[:-1])), np.concatenate((steps[1:], [0.0])))
    held[1:] = (steps == 0.0) & (around > STILL_STEP)
    return held


def _turns(intervals: Array, steps: Array) -> Array:
    """Whole turns (k, n) among steps (k, n), rad, over intervals (k,), s."""
    turns = np.rint(steps / (2.0 * np.pi)) * (np.abs(intervals) <= TURN_PERIOD)[:, None]
    turns[np.abs(steps - 2.0 * np.pi * turns) > TURN_SLACK] = 0.0
    return turns


def _is_one_of(row: Array, constants: Sequence[Array]) -> bool:
    return any(np.array_equal(row, constant) for constant in constants)


def _kept(
    samples: ArmSamples, fresh: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> tuple[ArmSamples, NDArray[np.bool_]]:
    return (samples, fresh) if chosen.all() else (samples.rows(chosen), fresh[chosen])
