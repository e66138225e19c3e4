"""What joints may do around an instant, as covariances of their positions: the parts of `BranchModel`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array

RINGING = (12.0, 60.0)
"""Frequencies of elastic joints, Hz."""

DAMPING_RATIO = 0.03
"""Of their oscillation; the geometric mean of 0.01 and 0.1."""

STIFF, STIFF_DAMPING = (100.0, 250.0), 0.25
"""Frequencies of stiff joints, Hz, and their damping ratio: what they do after an impact is over within two periods."""

_STIFF = 2.0 * np.pi * np.geomspace(*STIFF, 4)
_FREQUENCIES = 2.0 * np.pi * np.linspace(*RINGING, 17)


@dataclass(frozen=True)
class Sizes:
    """Sizes of one joint's parts, all but noise and jump.

    Attributes:
        jerk: Spectral density of the jerk, rad^2/s^5.
        under_way: Velocity of an oscillation under way, rad/s.
        started: Velocity of an oscillation that the impact starts, rad/s.
        step: Standard deviation of a step of the acceleration, rad/s^2.
        carried: Standard deviation of a step of the motors' acceleration, rad/s^2.
    """

    jerk: float
    under_way: float = 0.0
    started: float = 0.0
    step: float = 0.0
    carried: float = 0.0


ALL = Sizes(1.0, 1.0, 1.0, 1.0, 1.0)
"""Every part at size one."""


class MotionParts:
    """The parts at size one, at given times."""

    def __init__(self, times: Array) -> None:
        """Prepare for times (k,) from the first sample on, s."""
        early = np.minimum(times[:, None], times)
        apart = np.abs(times[:, None] - times)
        self._jerk = early**5 / 20.0 + apart * early**4 / 8.0 + apart**2 * early**3 / 12.0
        lag = apart[..., None] * _FREQUENCIES
        self._under_way = (np.exp(-DAMPING_RATIO * lag) * np.cos(lag) / _FREQUENCIES**2).mean(axis=-1)

    def covariance(self, since: Array, size: Sizes, noise: float) -> Array:
        """Covariances (..., k, k) for times since the instant (..., k)."""
        covariance: Array = noise**2 * np.eye(since.shape[-1])
        for square, part in zip(squares(size), self._parts(since, size), strict=True):
            if square:
                covariance = covariance + square * part
        return np.broadcast_to(covariance, (*since.shape, since.shape[-1]))

    def _parts(self, since: Array, size: Sizes = ALL) -> tuple[Array, ...]:
        """Covariance of each part of `Sizes` at size one, (..., k, k) or (k, k); empty where `size` has none."""
        empty = np.zeros(0)
        started = _outer(started_swings(since)) if size.started else empty
        step = _outer(0.5 * since[..., None] ** 2) if size.step else empty
        carried = _outer(carried_bends(since)) if size.carried else empty
        return self._jerk, self._under_way, started, step, carried

    def table(self, since: Array) -> Array:
        """The parts for times since the instant (k,), in rows (parts, k^2) in the order of `squares`."""
        return np.stack([part.ravel() for part in self._parts(since)])


def squares(size: Sizes) -> tuple[float, ...]:
    """What the covariance of each part is multiplied with, in the order of `Sizes`."""
    return (size.jerk, size.under_way**2, size.started**2, size.step**2, size.carried**2)


def _outer(columns: Array) -> Array:
    return np.asarray(columns @ np.swapaxes(columns, -1, -2))


def started_swings(since: Array) -> Array:
    """Oscillations (..., k, f) that begin with a velocity, of elastic and of stiff joints, 1 rad/s of either."""
    swing = since[..., None] * _FREQUENCIES
    swing = np.exp(-DAMPING_RATIO * swing) * np.sin(swing) / _FREQUENCIES / np.sqrt(len(_FREQUENCIES))
    quick = since[..., None] * _STIFF
    quick = np.exp(-STIFF_DAMPING * quick) * np.sin(quick) / _STIFF / np.sqrt(len(_STIFF))
    return np.concatenate((swing, quick), axis=-1)


def ramp(since: Array, duration: float) -> Array:
    """What a jump of 1 rad/s adds to the position when the force is half a sine of this duration."""
    if duration == 0.0:
        return since
    phase = np.pi * np.minimum(since, duration) / duration
    during = 0.5 * since - 0.5 * duration / np.pi * np.sin(phase)
    return np.where(since < duration, during, since - 0.5 * duration)


def carried_bends(since: Array) -> Array:
    """What a step of the motors' acceleration by 1 rad/s^2 adds to the links' positions (..., 1 + f).

    Without elasticity, then by joints of each frequency w and damping ratio z: the spring's deflection d obeys
    d'' + 2 z w d' + w^2 d = 1 from rest. Weighed so that both halves of the columns count as one step.
    """
    rigid = 0.5 * since[..., None] ** 2
    phase = since[..., None] * _FREQUENCIES
    decay = np.exp(-DAMPING_RATIO * phase)
    deflection = (1.0 - decay * (np.cos(phase) + DAMPING_RATIO * np.sin(phase))) / _FREQUENCIES**2
    elastic = (rigid - deflection) / np.sqrt(len(_FREQUENCIES))
    return np.sqrt(0.5) * np.concatenate((rigid, elastic), axis=-1)
