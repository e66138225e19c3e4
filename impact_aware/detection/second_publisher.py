"""Messages of a second publisher on an arm's topic: values that one arm could not reach between its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array

FASTEST, LEAST_STEP = 12.0, 0.02
"""Speed that no joint reaches, rad/s, and the step beyond what it allows that is no noise of a stamp, rad."""

MOST_TRACKS = 8
"""Largest number of publishers that are separated; positions with more are no arm's."""

MOST_WRONG = 3
"""Messages in a row that are single wrong values when they come once."""

MOST_CONSTANTS = 4
"""Constant values that are remembered."""

TAKES_OVER = 5
"""Samples of another motion, none of the arm's own between, after which that motion is the arm's."""


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

    def __init__(self, period: float) -> None:
        """The time between two samples, s, bounds what a joint can move between samples of one stamp."""
        self._period = period
        self._last: tuple[float, Array] | None = None
        self._other: tuple[float, Array] | None = None
        self._count = self.refused = self.taken_over = 0

    def continues(self, time: float, position: Array) -> bool:
        """Whether a sample at a time, s, of position (n,), rad, is the arm's.

        A position that repeats itself is evidence neither of the arm nor of another motion: publishers of zeros repeat
        theirs, and so does an arm at rest.
        """
        reached = self._last is None or self._reached(self._last, time, position)
        if reached:
            if self._last is None or (position != self._last[1]).any():
                self._count = 0
        else:
            follows = self._other is not None and self._reached(self._other, time, position)
            if self._other is None or not follows:
                self._count = 1
            elif (position != self._other[1]).any():
                self._count += 1
            self._other = (time, position)
            if self._count < TAKES_OVER:
                self.refused += 1
                return False
            self._count, self.taken_over = 0, self.taken_over + 1
        self._last = (time, position)
        return True

    def _reached(self, last: tuple[float, Array], time: float, position: Array) -> bool:
        step = _reach((position - last[1])[None])[0]
        return not step > LEAST_STEP + FASTEST * max(abs(time - last[0]), self._period)


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
