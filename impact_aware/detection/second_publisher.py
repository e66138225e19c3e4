"""Messages of a second publisher on an arm's topic: values that one arm could not reach between its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.compiled import DENSE_VECTOR, INDEX, INDEX_PAIR, NUMBER, VECTOR, compiled, part

FASTEST, LEAST_STEP = 12.0, 0.02
"""Speed that no joint reaches, rad/s, and the step beyond what it allows that is no noise of a stamp, rad."""

MOST_TRACKS = 8
"""Largest number of publishers that are separated; positions with more are no arm's."""

MOST_WRONG = 3
"""Messages in a row that are single wrong values when they come once."""

MOST_CONSTANTS = 4
"""Constant values that are remembered."""

TAKES_OVER, RECENT = 5, 1.0
"""Samples of another motion after which it is the arm's, if meanwhile the arm's own position does not change; longest
time between two of them, s: wrong values that come now and then are no motion."""

_TAKEN, _REFUSED, _TAKEN_OVER = range(3)


def foreign_rows(
    times: Array, positions: Array, known: Sequence[Array] = ()
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], list[Array]]:
    """Separate one arm's samples from those of other publishers and from single wrong ones.

    Runs of samples without an impossible step are joined to tracks, each to the one that it can continue. The track
    with the most distinct positions is the arm; others are foreign as far as they overlap it in time.

    Args:
        times: (k,) Stamps in increasing order, s.
        positions: (k, n) rad.
        known: Constant positions (n,) that another publisher is known to hold.

    Returns:
        Masks (k,) of foreign and of wrong samples, and the known constants with those found here.
    """
    count, constants = len(times), list(known)
    foreign, wrong = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    for constant in constants:
        foreign |= (positions == constant).all(axis=1)
    rows = np.flatnonzero(~foreign)
    if len(rows) < 3:
        return foreign, wrong, constants
    steps = _reach(positions[rows[1:]] - positions[rows[:-1]])
    stamps = times[rows]
    period = float(np.median(np.diff(stamps)))
    # A value that is repeated has been on its way since it was new.
    fresh = np.maximum.accumulate(np.where(np.concatenate(([True], steps > 0.0)), np.arange(len(rows)), 0))
    elapsed = stamps[1:] - stamps[fresh[:-1]]
    cuts = np.flatnonzero(steps > LEAST_STEP + FASTEST * np.maximum(elapsed, period)) + 1
    tracks = _tracks(np.split(rows, cuts), times, positions, period) if len(cuts) else []
    if len(tracks) < 2:
        return foreign, wrong, constants
    sizes = [len(np.unique(positions[np.concatenate(track)], axis=0)) for track in tracks]
    main = tracks[int(np.argmax(sizes))]
    for track, size in zip(tracks, sizes, strict=True):
        if track is main or track[0][0] > main[-1][-1] or track[-1][-1] < main[0][0]:
            continue
        members = np.concatenate(track)
        if len(track) == 1 and len(members) <= MOST_WRONG:
            wrong[members] = True
            continue
        foreign[members] = True
        if size == 1 and len(members) > 1 and len(constants) < MOST_CONSTANTS:
            constants.append(positions[members[0]])
    return foreign, wrong, constants


class ArmTrack:
    """Separates an arm's samples from those of other publishers live, by the last sample alone.

    Attributes:
        refused: Samples that did not continue the arm's motion.
        taken_over: Times that another motion became the arm's.
    """

    def __init__(self, joint_count: int, period: float) -> None:
        """The time between two samples, s, bounds what a joint can move between samples of one stamp."""
        self._period = period
        self._last, self._other = np.full(joint_count + 1, np.nan), np.full(joint_count + 1, np.nan)
        self._count = self.refused = self.taken_over = 0

    def continues(self, time: float, position: Array) -> bool:
        """Whether a sample at a time, s, of position (n,), rad, is the arm's.

        A position that repeats itself is evidence neither of the arm nor of another motion: publishers of zeros repeat
        theirs, and so does an arm at rest. Samples that can't be used are left to the detector to count.
        """
        try:
            self._count, ends = next_count(
                float(time), np.asarray(position, dtype=np.float64), self._period, self._last, self._other, self._count
            )
        except (TypeError, ValueError, OverflowError):
            return True
        if ends == _REFUSED:
            self.refused += 1
        elif ends == _TAKEN_OVER:
            self.taken_over += 1
        return ends != _REFUSED


@part(inline=True)
def _reached(time: float, position: Array, period: float, before: Array) -> tuple[bool, bool]:
    """Whether an arm gets from the sample before to this position, whole turns aside, and whether it moved."""
    reach, moved = LEAST_STEP + FASTEST * max(abs(time - before[0]), period), False
    for k in range(position.size):
        step = position[k] - before[k + 1]
        moved |= step != 0.0
        if abs(step - 2.0 * math.pi * round(step / (2.0 * math.pi))) > reach:
            return False, True
    return True, moved


@compiled(INDEX_PAIR, NUMBER, VECTOR, NUMBER, DENSE_VECTOR, DENSE_VECTOR, INDEX)
def next_count(
    time: float, position: Array, period: float, last: Array, other: Array, count: int
) -> tuple[int, int]:
    """Number of samples in a row that continue another motion, and what becomes of this one.

    Args:
        time: Of the sample, s.
        position: (n,) rad.
        period: Time between two samples, s.
        last: (n + 1,) Time and position of the arm's last sample, NaN before the first; written to.
        other: (n + 1,) The same of the last sample that was refused.
        count: Number before this sample.
    """
    if position.size + 1 != last.size:
        return count, _TAKEN
    for value in position:
        if not math.isfinite(value + time):
            return count, _TAKEN
    reached, moved = _reached(time, position, period, last)
    found = _TAKEN
    if reached:
        count = 0 if moved else count
    else:
        follows, differs = _reached(time, position, period, other)
        # False for NaN, before the first one.
        recent = abs(time - other[0]) <= RECENT
        count = count + differs if follows and recent else 1
        other[0], other[1:] = time, position
        if count < TAKES_OVER:
            return count, _REFUSED
        count, found = 0, _TAKEN_OVER
    last[0], last[1:] = time, position
    return count, found


def _tracks(
    runs: Sequence[NDArray[np.intp]], times: Array, positions: Array, period: float
) -> list[list[NDArray[np.intp]]]:
    """Runs joined to tracks; empty where there are too many for a few publishers."""
    tracks: list[list[NDArray[np.intp]]] = []
    for run in runs:
        lasts = np.array([track[-1][-1] for track in tracks], dtype=np.intp)
        away = _reach(positions[lasts] - positions[run[0]])
        away -= FASTEST * np.maximum(times[run[0]] - times[lasts], period)
        nearest = int(np.argmin(away)) if len(away) else -1
        if nearest >= 0 and away[nearest] <= LEAST_STEP:
            tracks[nearest].append(run)
        elif len(tracks) < MOST_TRACKS:
            tracks.append([run])
        else:
            return []
    return tracks


def _reach(steps: Array) -> Array:
    """Largest step (k,) of any joint in steps (k, n), whole turns aside, rad."""
    return np.asarray(np.abs(steps - 2.0 * np.pi * np.rint(steps / (2.0 * np.pi))).max(axis=1, initial=0.0))
