"""What joints may do around an instant, as covariances of their positions: the parts of `BranchModel`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.priors import (
    BEGUN,
    DAMPING_RATIO,
    DAMPING_RATIOS,
    FINE_FREQUENCIES,
    RINGING_BAND,
    STIFF,
    STIFF_DAMPING,
    SWING_RANK,
    Sizes,
    squares,
)

_NAMES = ("jerk", "under_way", "_started", "_step", "_carried", "_rattle")
_STIFF = 2.0 * np.pi * np.geomspace(*STIFF, 4)
_FREQUENCIES = 17
_TURNS = 2.0 * np.pi * np.linspace(*RINGING_BAND, _FREQUENCIES)


class MotionParts:
    """The parts at size one, at given times."""

    def __init__(
        self,
        times: Array,
        earlier: Sequence[float] = (),
        scales: Array | None = None,
    ) -> None:
        """Prepare.

        Args:
            times: (k,) From the first sample on, s.
            earlier: Times of jumps that are known, after which joints swing, s.
            scales: (k,) Factors of the noise's variance in each sample; all 1 when None.
        """
        self._white = np.diag(np.ones(len(times)) if scales is None else scales)
        begun = [_outer(started_swings(np.maximum(times - jump, 0.0))) for jump in earlier]
        self._begun = BEGUN**2 * sum(begun, np.zeros((len(times), len(times))))
        early = np.minimum(times[:, None], times)
        apart = np.abs(times[:, None] - times)
        self.jerk = shaken(times)
        self._pushed = early**3 / 3.0 + apart * early**2 / 2.0
        lag = apart[..., None] * _TURNS
        self.under_way = (np.exp(-DAMPING_RATIO * lag) * np.cos(lag) / _TURNS**2).mean(axis=-1)

    def given(self, noise: float, pushes: float = 0.0) -> Array:
        """Covariance (k, k) of what has no size to choose.

        That is white noise, rad, and pushes, a white acceleration of a density in rad^2/s^3, or, where the drive was
        not taken off, the swings that earlier jumps began.
        """
        driven = pushes * self._pushed if pushes else self._begun
        return np.asarray(noise**2 * self._white + driven)

    def since(self, since: Array) -> PartsSince:
        """The parts for times since an instant, or since several (..., k), s."""
        return PartsSince(self, since)


class PartsSince:
    """The parts for times since an instant, each computed when it is first used.

    Attributes:
        since: (..., k) s.
    """

    def __init__(self, parts: MotionParts, since: Array) -> None:
        """Remember them."""
        self.since, self._parts = since, parts

    @cached_property
    def _started(self) -> Array:
        return _outer(started_swings(self.since))

    @cached_property
    def _step(self) -> Array:
        return _outer(0.5 * self.since[..., None] ** 2)

    @cached_property
    def _carried(self) -> Array:
        return _outer(carried_bends(self.since))

    @cached_property
    def _rattle(self) -> Array:
        return shaken(self.since)

    def covariance(self, size: Sizes, noise: float, pushes: float = 0.0) -> Array:
        """Covariances (..., k, k) of the samples with those of `MotionParts.given`."""
        covariance = self._parts.given(noise, pushes)
        for square, name in zip(squares(size), _NAMES, strict=True):
            if square:
                covariance = covariance + square * self._part(name)
        return np.broadcast_to(covariance, (*self.since.shape, self.since.shape[-1]))

    @cached_property
    def table(self) -> Array:
        """The parts for times since one instant, in rows (parts, k^2) in the order of `squares`."""
        return np.stack([self._part(name).ravel() for name in _NAMES])

    def _part(self, name: str) -> Array:
        return np.asarray(getattr(self._parts if name in ("jerk", "under_way") else self, name))


def shaken(times: Array) -> Array:
    """Covariance (..., k, k) of positions at times (..., k) after a jerk of density one began."""
    early = np.minimum(times[..., :, None], times[..., None, :])
    apart = np.abs(times[..., :, None] - times[..., None, :])
    return np.asarray(early**5 / 20.0 + apart * early**4 / 8.0 + apart**2 * early**3 / 12.0)


def _outer(columns: Array) -> Array:
    return np.asarray(columns @ np.swapaxes(columns, -1, -2))


def started_swings(since: Array) -> Array:
    """Oscillations (..., k, f) that begin with a velocity, of elastic and of stiff joints, 1 rad/s of either."""
    swing = since[..., None] * _TURNS
    swing = np.exp(-DAMPING_RATIO * swing) * np.sin(swing) / _TURNS / np.sqrt(_FREQUENCIES)
    quick = since[..., None] * _STIFF
    quick = np.exp(-STIFF_DAMPING * quick) * np.sin(quick) / _STIFF / np.sqrt(len(_STIFF))
    return np.concatenate((swing, quick), axis=-1)


def swing_basis(since: Array) -> Array:
    """Columns (k, r) whose products are the covariance of the oscillations that begin at rest with 1 rad/s.

    Oscillations of elastic joints have all frequencies of `RINGING_BAND` and the damping ratios `DAMPING_RATIOS`, those
    of stiff joints are as in `started_swings`; only directions that hold some of their variance are kept.
    """
    turns = 2.0 * np.pi * np.linspace(*RINGING_BAND, FINE_FREQUENCIES)
    phase = since[:, None] * turns
    swing = np.sin(phase) / turns / np.sqrt(FINE_FREQUENCIES * len(DAMPING_RATIOS))
    columns = [np.exp(-ratio * phase) * swing for ratio in DAMPING_RATIOS]
    quick = since[:, None] * _STIFF
    columns.append(np.exp(-STIFF_DAMPING * quick) * np.sin(quick) / _STIFF / np.sqrt(len(_STIFF)))
    basis, lengths, _ = np.linalg.svd(np.hstack(columns), full_matrices=False)
    return np.asarray(basis[:, :SWING_RANK] * lengths[:SWING_RANK])


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
    phase = since[..., None] * _TURNS
    decay = np.exp(-DAMPING_RATIO * phase)
    deflection = (1.0 - decay * (np.cos(phase) + DAMPING_RATIO * np.sin(phase))) / _TURNS**2
    elastic = (rigid - deflection) / np.sqrt(_FREQUENCIES)
    return np.sqrt(0.5) * np.concatenate((rigid, elastic), axis=-1)
