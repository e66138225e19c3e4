"""The frame of a detector that watches a window of motion: intake, refractory time, and the event made of a find.

A detector on this frame only decides in `_examine` whether the newest sample shows an impact. The refined time and the
velocities before and after always come from the positions, whatever signal the detector itself looks at.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_aware.detection.detector import ImpactDetector
from impact_aware.detection.events import Array, JointSample
from impact_aware.detection.gap_watch import GapWatch
from impact_aware.detection.kink import fit_kink
from impact_aware.detection.motion_window import DropCounts, MotionWindow
from impact_aware.errors import InvalidInputError
from impact_aware.records import ImpactEvent

PerJoint = float | tuple[float, ...]


def ranged(default: Any, expected: str, accepts: Callable[[Any], bool]) -> Any:
    """A field of `WindowParameters`: its default, the values that it may have in words, and the check of one."""
    return field(default=default, metadata={"expected": expected, "accepts": accepts})


def ranged_per_joint(default: PerJoint | None, *, positive: bool = True) -> Any:
    """A field of one number, or one per joint, all finite and > 0, or >= 0 where not `positive`.

    None is allowed as well where it is the default.
    """

    def accepts(given: PerJoint | None) -> bool:
        if given is None:
            return default is None
        values = np.asarray(given, dtype=np.float64)
        allowed = np.isfinite(values) & ((values > 0.0) if positive else (values >= 0.0))
        return values.ndim <= 1 and bool(allowed.all())

    words = "finite and " + ("> 0" if positive else ">= 0") + (", or None" if default is None else "")
    return ranged(default, words, accepts)


@dataclass(frozen=True)
class WindowParameters:
    """What every detector has to know about its source.

    Attributes:
        sampling_period: Time between samples, s.
        encoder_resolution: Step r of the position signal, rad, one or per joint.
        position_noise: Standard deviation of the position noise beside the steps, rad, one or per joint.
        refractory_time: Time after an event in which no other is reported, s.
    """

    sampling_period: float = ranged(1e-3, "more than 0 s", lambda value: value > 0.0)
    encoder_resolution: PerJoint = ranged_per_joint(1e-5, positive=False)
    position_noise: PerJoint = ranged_per_joint(0.0, positive=False)
    refractory_time: float = ranged(0.04, "0 s or more", lambda value: value >= 0.0)

    def __post_init__(self) -> None:
        """Check every range; an InvalidInputError names the field."""
        for each in fields(self):
            if each.metadata:
                self.require(each.name, each.metadata["accepts"](getattr(self, each.name)), each.metadata["expected"])

    def require(self, name: str, fine: bool, expected: str) -> None:
        """Refuse the value of a field unless `fine`."""
        if not fine:
            raise InvalidInputError(name, getattr(self, name), expected)

    def resolution(self, joint_count: int) -> Array:
        """Encoder step of every joint (n,), rad."""
        return per_joint(self, "encoder_resolution", joint_count)

    def position_variance(self, joint_count: int) -> Array:
        """Variance of every joint's position by steps and noise (n,), rad^2."""
        return self.resolution(joint_count) ** 2 / 12.0 + per_joint(self, "position_noise", joint_count) ** 2

    def motion_window(self, joint_count: int, length: int) -> MotionWindow:
        """A window of `length` samples of this source."""
        return MotionWindow(joint_count, length, self.sampling_period, self.resolution(joint_count))


def per_joint(parameters: object, name: str, joint_count: int) -> Array:
    """Return a parameter as one value per joint (n,).

    Raises:
        InvalidInputError: It has another number of values.
    """
    value = getattr(parameters, name)
    if np.ndim(value) and len(value) != joint_count:
        raise InvalidInputError(name, value, f"one value or {joint_count} of them")
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (joint_count,)).copy()


def joint_mask(parameters: object, name: str, joint_count: int) -> NDArray[np.bool_]:
    """Return the joints that a parameter selects as a mask (n,); all of them for None.

    Raises:
        InvalidInputError: An index that is no joint, or none at all.
    """
    chosen = getattr(parameters, name)
    if chosen is None:
        return np.ones(joint_count, dtype=bool)
    mask = np.zeros(joint_count, dtype=bool)
    if not chosen or min(chosen) < 0 or max(chosen) >= joint_count:
        raise InvalidInputError(name, chosen, f"indices from 0 to {joint_count - 1}, or None for all")
    mask[list(chosen)] = True
    return mask


def finite_row(values: Array | None, joint_count: int) -> Array | None:
    """Return a sample's optional array (n,), or None where it is missing, malformed or not finite."""
    if values is None:
        return None
    try:
        row = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    # One product shows that all are finite, in a fraction of the time of `isfinite` and `all`.
    return row if row.shape == (joint_count,) and math.isfinite(row.dot(row)) else None


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """An impact as `_examine` finds it: the joint that showed it first, and every joint's residual over its bound."""

    joint: int
    residual: Array


class WindowedDetector(ImpactDetector):
    """A detector with a `MotionWindow`.

    Attributes:
        level: The newest sample's signal over its bound: above 1 the detector suspects an impact.
    """

    def __init__(self, joint_count: int, parameters: WindowParameters, length: int, kink_span: float) -> None:
        """Make a window of `length` samples; impacts are looked for in the last `kink_span` sampling periods."""
        self.joint_count = joint_count
        self._source = parameters
        # A signal without steps still has rounding.
        self._noise_std = np.sqrt(parameters.position_variance(joint_count)) + 1e-9
        self._kink_span = kink_span
        self._steps = 0
        self._window = parameters.motion_window(joint_count, length)
        self._gap = GapWatch(self._noise_std)
        self.reset()

    @property
    def drops(self) -> DropCounts:
        """What was refused or mended since construction."""
        return self._window.drops

    def reset(self) -> None:
        """Forget every sample and event; the drop counts stay."""
        self._last_event = -np.inf
        self.level = 0.0
        self._window.reset()
        self._forget()

    def rearm(self) -> None:
        """End the refractory time, since the next impact may come at once."""
        self._last_event = -np.inf

    def update(self, sample: JointSample) -> ImpactEvent | None:
        """Take the next sample in; see `ImpactDetector.update`."""
        window = self._window
        before, count = window.time, window.least_count
        steps = self._steps = window.accept(sample)
        if not steps:
            self.level = 0.0
            return None
        if window.fresh:
            self._forget()
            self._gap.gap(window, before, count)
            if window.time < before:
                self._last_event = -np.inf
        self.level = 0.0
        if window.time - self._last_event < self._source.refractory_time:
            self._rest(sample, steps)
            return None
        finding = self._examine(sample, steps)
        if finding is not None:
            return self.conclude(finding)
        event = self._gap.compare(window, self.name) if self._gap.waits else None
        if event is not None:
            self.acknowledge()
        return event

    @abstractmethod
    def _examine(self, sample: JointSample, steps: int) -> Finding | None:
        """Test the newest sample, which is in the window already, `steps` periods after the one before.

        Sets `level` as well.
        """

    def _rest(self, sample: JointSample, steps: int) -> None:
        """Take a sample of the refractory time in."""

    def _forget(self) -> None:
        """Drop whatever is remembered beside the window."""

    def acknowledge(self) -> None:
        """Take note of an impact detected elsewhere at the newest sample: the refractory time begins."""
        self._last_event = self._gap.last_event = self._window.time
        self._window.restart_joints(np.ones(self.joint_count, dtype=bool), 1)
        self._forget()

    def conclude(self, finding: Finding) -> ImpactEvent:
        """Make the event of a find at the newest sample, and begin the refractory time."""
        window = self._window
        positions = window.positions
        shape = (self.joint_count,)
        position = positions[-1].copy()
        before, after = np.full(shape, np.nan), np.full(shape, np.nan)
        count = int(window.counts[finding.joint])
        used = window.counts >= max(count, 1)
        time, spread, explained = window.time, self._source.sampling_period, 0.0
        if count >= 4:
            earliest = -self._kink_span * window.period
            kink = fit_kink(positions[-count:, used], window.period, earliest, self._noise_std[used])
            # Numbers that overflow fit nowhere; the impact is reported all the same, at the sample that showed it.
            if math.isfinite(kink.time):
                time, spread, explained = window.time + kink.time, kink.time_std, kink.explained
                position[used] = kink.position
                before[used] = kink.velocity_before
                after[used] = kink.velocity_after
        event = ImpactEvent(
            time=time,
            time_detected=window.time,
            time_std=spread,
            detector=self.name,
            joint=finding.joint,
            position=position,
            velocity_before=before,
            velocity_after=after,
            residual=finding.residual,
            confidence=explained,
        )
        self.acknowledge()
        return event
