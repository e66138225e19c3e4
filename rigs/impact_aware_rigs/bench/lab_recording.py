"""What a lab's recorder makes of a hit: few samples, jitter, encoder steps, filtered velocities, an object's track."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicHermiteSpline
from scipy.signal import lfilter

from impact_aware.arrays import Array
from impact_aware_rigs.bench.lab_hit import CYCLE, TrueHit

RATES = (100, 200, 500, 1000)
"""Rates of the recorders, Hz."""


@dataclass(frozen=True, eq=False)
class LabRecording:
    """One hit as recorded: k samples of n joints.

    Attributes:
        truth: What happened.
        rate: Nominal, Hz.
        times: (k,) Stamps, s.
        positions: (k, n) rad.
        velocities: (k, n) rad/s, or None.
        velocity_delay: By which they lag, s.
        efforts: (k, n) N m, or None.
        commands: (k, n) Last commanded torques, N m, or None.
        object_times: (m,) Stamps of the object's track, s, or None without one.
        object_positions: (m, 3) Its centre, base frame, m.
        object_quaternions: (m, 4) Its attitude, base frame, x, y, z, w.
    """

    truth: TrueHit
    rate: float
    times: Array
    positions: Array
    velocities: Array | None
    velocity_delay: float
    efforts: Array | None
    commands: Array | None
    object_times: Array | None
    object_positions: Array | None
    object_quaternions: Array | None

    def write(self, folder: Path, name: str) -> Path:
        """Write `NAME.npz` with `time`, `q`, `dq`, `tau`, `command`, and the object's `object_time` and so on."""
        columns: dict[str, Any] = {
            "time": self.times,
            "q": self.positions,
            "dq": self.velocities,
            "tau": self.efforts,
            "command": self.commands,
            "object_time": self.object_times,
            "object_position": self.object_positions,
            "object_quaternion": self.object_quaternions,
        }
        path = folder / f"{name}.npz"
        np.savez(path, **{key: column for key, column in columns.items() if column is not None})
        return path


def record(truth: TrueHit, rate: float, seed: int) -> LabRecording:
    """Record a hit at a rate, Hz; the seed decides the recorder and its noise.

    Stamps are those of the measurement, up to 0.1 ms; the instants themselves scatter by up to 15 % of a period, as
    those of a program do that is woken by a timer. Two of three recorders have velocities, every other of them low-pass
    filtered at 10 to 40 Hz; two of three have torques; every other one has commands, and every other one a track of the
    object.
    """
    rng = np.random.default_rng((seed, round(rate)))
    begin, end = truth.times[0], truth.times[-1]
    instants = np.arange(begin + rng.uniform(0.2, 1.2) / rate, end - 0.2 / rate, 1.0 / rate)
    instants = instants + rng.uniform(-1.0, 1.0, len(instants)) * rng.uniform(0.0, 0.15) / rate
    instants = instants[instants < end]
    n = truth.positions.shape[1]
    shape = (len(instants), n)
    positions = CubicHermiteSpline(truth.times, truth.positions, truth.velocities)(instants)
    step = 10.0 ** rng.uniform(-5.0, -4.0)
    positions = np.round((positions + 0.3 * step * rng.standard_normal(shape)) / step) * step
    velocities, delay = _velocities(truth, instants, rng)
    efforts = None
    if rng.uniform() < 2.0 / 3.0:
        efforts = _at(truth.times, truth.efforts, instants) + rng.uniform(0.05, 0.3) * rng.standard_normal(shape)
    track: tuple[Array | None, Array | None, Array | None] = (None, None, None)
    if rng.uniform() < 0.5 and not truth.draw.fixed:
        track = _object_track(truth, rng)
    stamps = instants + rng.normal(0.0, 1e-4, len(instants)) * min(1.0, 100.0 / rate)
    commands = None
    if rng.uniform() < 0.5:
        commands = truth.commands[np.searchsorted(truth.times, instants, side="right") - 1]
    # Scattered stamps of a fast recorder never change places.
    return LabRecording(
        truth, rate, np.maximum.accumulate(stamps), positions, velocities, delay, efforts, commands, *track
    )


def _velocities(truth: TrueHit, instants: Array, rng: np.random.Generator) -> tuple[Array | None, float]:
    kind, cutoff = rng.uniform(), rng.uniform(10.0, 40.0)
    if kind < 1.0 / 3.0:
        return None, 0.0
    velocities, delay = truth.velocities, 0.0
    if kind < 2.0 / 3.0:
        keep = np.exp(-2.0 * np.pi * cutoff * CYCLE)
        velocities = lfilter([1.0 - keep], [1.0, -keep], velocities, axis=0)
        # Of a first-order filter at frequencies well below its corner.
        delay = CYCLE * keep / (1.0 - keep)
    return _at(truth.times, velocities, instants) + 2e-3 * rng.standard_normal(
        (len(instants), velocities.shape[1])
    ), delay


def _object_track(truth: TrueHit, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    rate = rng.uniform(100.0, 250.0)
    instants = np.arange(truth.times[0] + rng.uniform(0.2, 1.2) / rate, truth.times[-1] - 0.2 / rate, 1.0 / rate)
    places = np.searchsorted(truth.times, instants, side="right") - 1
    share = ((instants - truth.times[places]) / CYCLE)[:, None]
    before, after = truth.object_positions[places], truth.object_positions[places + 1]
    positions = before + share * (after - before) + 3e-4 * rng.standard_normal((len(instants), 3))
    quaternions = np.empty((len(instants), 4))
    for row, place in enumerate(places):
        turned = truth.object_rotations[place] @ pin.exp3(2e-3 * rng.standard_normal(3))
        quaternions[row] = pin.Quaternion(turned).normalized().coeffs()
    return instants, positions, quaternions


def _at(times: Array, values: Array, instants: Array) -> Array:
    return np.stack([np.interp(instants, times, column) for column in values.T], axis=1)
