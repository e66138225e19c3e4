"""Faults of a robot's stream in a recording: late stamps, copies, swaps, a second publisher, a gap, a clock step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware_rigs.bench.lab_recording import LabRecording

LATE, TAIL, LATEST = 3e-5, 1.5, 4e-3
"""Stamps are late by the magnitude of Student's t of `TAIL` degrees of freedom times `LATE`, s, at most by `LATEST`."""

SHARE = 1.0 / 3.0
"""Probability of each of the other faults."""

COPIED, SWAPPED = 0.1, 0.08
"""Shares of the messages that come twice, and before the one they follow."""

EVERY = 10
"""Every so many messages a second publisher sends zeros."""

LONGEST_GAP = 0.012
"""Longest time without samples around the first contact, s."""

STEP = 37.0
"""Size of a step of the clock, s."""

POLLED, LOST, STALL = 0.25, 0.08, 9.0
"""Intervals of a logger that polls its robot: scatter, as a share of a period; share of those that are a period longer;
periods that one of a thousand is longer."""


def as_streamed(recording: LabRecording, seed: int) -> LabRecording:
    """The recording with late stamps and, each by chance, the other faults of a stream.

    The clock steps before the first contact, so that the times of what happens are those of the truth. Commands have a
    topic of their own, which a table does not: they are left out where messages are copied, swapped or mixed.
    """
    rng = np.random.default_rng((seed, round(recording.rate), 43))
    times = recording.times + np.minimum(LATE * np.abs(rng.standard_t(TAIL, len(recording.times))), LATEST)
    faults = rng.uniform(size=5) < SHARE
    first = recording.truth.contacts[0].time if recording.truth.contacts else float(times[-1])
    rows = np.arange(len(times))
    if faults[0]:
        length = rng.uniform(0.0, LONGEST_GAP)
        begin = first - length * rng.uniform()
        rows = rows[(recording.times < begin) | (recording.times > begin + length)]
    if faults[1]:
        step = rng.uniform(0.3, 0.6) * (first - times[0]) + times[0]
        times = times - np.where(recording.times < step, STEP, 0.0)
    if faults[2]:
        rows = np.sort(np.concatenate((rows, rng.choice(rows, round(COPIED * len(rows)), replace=False))))
    if faults[3]:
        for place in np.flatnonzero(rng.uniform(size=len(rows) - 1) < SWAPPED).tolist():
            rows[[place, place + 1]] = rows[[place + 1, place]]
    zeros = np.arange(EVERY, len(rows), EVERY) if faults[4] else np.zeros(0, dtype=np.intp)
    # The second publisher's stamps lie between those of the arm.
    stamps = np.insert(times[rows], zeros, times[rows][zeros] - 0.3 / recording.rate)
    commands = None if recording.commands is None or faults[2:].any() else recording.commands[rows]
    return replace(
        recording,
        times=stamps,
        positions=_inserted(recording.positions, rows, zeros),
        velocities=None if recording.velocities is None else _inserted(recording.velocities, rows, zeros),
        efforts=None if recording.efforts is None else _inserted(recording.efforts, rows, zeros),
        commands=commands,
    )


def as_polled(recording: LabRecording, seed: int) -> LabRecording:
    """The recording by a logger that polls the latest sample of the robot: some come twice, others never."""
    rng = np.random.default_rng((seed, round(recording.rate), 45))
    times = recording.times
    intervals = rng.uniform(1.0 - POLLED, 1.0 + POLLED, len(times)) + (rng.uniform(size=len(times)) < LOST)
    intervals[rng.uniform(size=len(times)) < 1e-3] += STALL
    polls = times[0] + np.cumsum(intervals) / recording.rate
    polls = polls[polls < times[-1]]
    rows = np.searchsorted(times, polls, side="right") - 1
    sampled = (recording.positions, recording.velocities, recording.efforts, recording.commands)
    positions, velocities, efforts, commands = (None if column is None else column[rows] for column in sampled)
    assert positions is not None
    return replace(
        recording, times=polls, positions=positions, velocities=velocities, efforts=efforts, commands=commands
    )


def _inserted(column: Array, rows: NDArray[np.intp], zeros: NDArray[np.intp]) -> Array:
    return np.insert(column[rows], zeros, 0.0, axis=0)
