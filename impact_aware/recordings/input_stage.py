"""Cleaning of recorded samples before any analysis: order, copies, second publishers, stamps, held and wrong values.

`cadence` finds when samples were taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.detection.input_monitor import source_quality
from impact_aware.detection.second_publisher import foreign_rows
from impact_aware.estimation.sample_noise import noise_of, spikes
from impact_aware.recordings.arm_samples import ArmSamples, joined
from impact_aware.recordings.cadence import FEWEST, off_cadence, on_cadence
from impact_aware.recordings.input_faults import InputFaults

BLOCK, MARGIN = 8192, 64
"""Samples that are cleaned at a time, and samples on either side of them that are looked at with them."""

MOST_DISPLACED = 8
"""Messages by which one may be out of order; stamps that stay behind for longer have stepped back."""

PAUSE = 0.1
"""Time without samples beyond which the motion in between is unknown, s."""

STILL_STEP = 2e-5
"""A joint that moved more than this in a sample can't repeat its position in the next one, rad."""

MOST_HELD = 20
"""Repetitions of a position in a row while the arm moves: a longer standstill is one."""

TURN_SLACK, TURN_PERIOD = 0.5, 0.03
"""Distance from a whole turn within which a step is one, rad: no joint moves as far in a sample. Longest time between
samples in which a whole turn can be no motion, s."""

ALONE = 0.05
"""Share of a wrong position by which its neighbours may be off once it is replaced."""

SAME = 1e-3
"""Periods up to which two samples are of one instant: two of the same counted period differ by rounding."""

GAP = 2.5
"""Periods from which a time without samples is noted: two lost samples, as one may be a late stamp."""

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
            rows = samples.positions[foreign & fresh][:20]
            faults.constant &= all(any(np.array_equal(row, known) for known in self._known) for row in rows)
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
        samples, fresh = self._on_clock(samples, fresh)
        least = SAME * _period(samples.times)
        later = np.concatenate(([True], np.diff(np.maximum.accumulate(samples.times)) > least)) if len(fresh) else fresh
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
            self._reasons.append(source_quality(times - off_cadence(times, positions), positions).reason)

    def _on_clock(self, samples: ArmSamples, fresh: NDArray[np.bool_]) -> tuple[ArmSamples, NDArray[np.bool_]]:
        """Move stamps to the instants that cadence and positions have, and sort by those."""
        found = on_cadence(samples.times, samples.positions)
        if found is None:
            return samples, fresh
        faults, late = self.faults, found.off & fresh
        faults.late += int(np.count_nonzero(late))
        faults.latest = max(faults.latest, float(np.abs(found.away[late]).max(initial=0.0)))
        order = np.argsort(found.times, kind="stable")
        samples, fresh = replace(samples, times=found.times, time_std=found.time_std).rows(order), fresh[order]
        steps = np.diff(samples.times)
        gaps = np.flatnonzero(fresh[1:] & (steps > GAP * np.median(steps)))
        faults.gaps += len(gaps)
        begins = samples.times[gaps].tolist()
        faults.longest = max([faults.longest, *zip(steps[gaps].tolist(), begins, strict=True)])
        return samples, fresh

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
    """Rows (k,) that repeat the one before between two steps of a moving arm, `MOST_HELD` in a row at most."""
    held = np.zeros(len(positions), dtype=bool)
    changes = np.abs(np.diff(positions, axis=0))
    steps = changes.max(axis=1, initial=0.0)
    places = np.concatenate(([-1], np.flatnonzero(steps)))
    count = np.diff(places) - 1
    if not count.any():
        return held
    # One step of a coarse encoder is no sign that the arm moved in each sample.
    fast = steps[places] > max(STILL_STEP, 2.5 * float(changes[changes > 0.0].min()))
    fast[0] = True
    # Longer standstills are those of a moving arm only between two of its steps.
    runs = (count <= MOST_HELD) & np.where(count == 1, fast[:-1] | fast[1:], fast[:-1] & fast[1:])
    for repeat in range(MOST_HELD):
        held[places[:-1][runs & (repeat < count)] + 2 + repeat] = True
    return held


def _turns(intervals: Array, steps: Array) -> Array:
    """Whole turns (k, n) among steps (k, n), rad, over intervals (k,), s."""
    turns = np.rint(steps / (2.0 * np.pi)) * (np.abs(intervals) <= TURN_PERIOD)[:, None]
    turns[np.abs(steps - 2.0 * np.pi * turns) > TURN_SLACK] = 0.0
    return turns


def _kept(
    samples: ArmSamples, fresh: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> tuple[ArmSamples, NDArray[np.bool_]]:
    return (samples, fresh) if chosen.all() else (samples.rows(chosen), fresh[chosen])
