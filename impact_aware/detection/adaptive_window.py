"""The jump-aware adaptive window: predict the next positions, and call an impact what no smooth motion can do.

A parabola fitted to the last w+1 positions is extrapolated m periods (Aouaj thesis, (2.20)-(2.25)); `prediction_bound`
bounds its error without an impact. The thesis tests the one window that has grown to w_i, one period ahead;
here every shorter window and longer horizon is tested as well, as one small matrix product, and the first excess
counts. After an impact every window starts again.

Where samples are missing, `MixedBound` widens the bounds by what bridging them costs. Where stamps are off the grid by
d_i, a test with weights c_i may be off by |sum c_i d_i| times the speed, as either the stamps or the grid are right.

A jump keeps growing in the positions and an encoder glitch does not: an excess has to be confirmed by a larger error at
the next sample, predicted from the very window that showed the first.

A soft contact changes the velocity over tens of milliseconds, and no look-ahead of a few quick samples shows it. The
tests therefore run on samples that are `soft_period` apart as well, so that the spans of time are alike at all rates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from impact_aware.detection.events import Array, JointSample
from impact_aware.detection.motion_window import LARGEST_GAP
from impact_aware.detection.prediction_bound import MixedBound, detection_bound, extrapolation_weights
from impact_aware.detection.windowed_detector import (
    Finding,
    PerJoint,
    WindowedDetector,
    WindowParameters,
    per_joint,
    ranged,
    ranged_per_joint,
)
from impact_aware.records import ImpactEvent


@dataclass(frozen=True)
class AdaptiveWindowParameters(WindowParameters):
    """Parameters of the adaptive-window detector; the defaults are those of Aouaj thesis, 4.3, where it has any.

    Attributes:
        window: Largest fitted window W, so W+1 samples.
        smallest_window: Smallest fitted window, so one sample more; `window` for the single window of the thesis.
        horizon: Largest number of periods that a prediction looks ahead.
        acceleration_variation: Variation of the acceleration da that is no impact, rad/s^2, one or per joint.
        jerk_bound: Jerk j that is no impact, rad/s^3, one or per joint.
        sharp_bound: Use the sharper of the two bounds of `prediction_bound`; False for (2.33) itself.
        fixed_bound: Bound on every prediction error in place of the derived one, rad; the thesis uses 0.7e-3.
        confirmation_samples: Samples in a row that have to be out of bounds; 1 is quickest and takes a glitch for an
            impact.
        soft_period: About the time between the samples that are tested for soft contacts as well, s; None for no such
            test. It takes two sampling periods or more, and no `fixed_bound`.
        soft_variation: `acceleration_variation` of that test, whose spans of time are longer; the jerk builds it up
            within the same time.
    """

    window: int = 12
    smallest_window: int = ranged(2, "at least 2, as a parabola needs three samples", lambda value: value >= 2)
    horizon: int = ranged(4, "at least 1", lambda value: value >= 1)
    acceleration_variation: PerJoint = ranged_per_joint(20.0)
    jerk_bound: PerJoint = ranged_per_joint(30000.0)
    sharp_bound: bool = True
    fixed_bound: float | None = ranged(None, "more than 0 rad, or None", lambda value: value is None or value > 0.0)
    confirmation_samples: int = 2
    soft_period: float | None = ranged(0.005, "more than 0 s, or None", lambda value: value is None or value > 0.0)
    soft_variation: PerJoint = ranged_per_joint(20.0)

    @property
    def stride(self) -> int:
        """Sampling periods between the samples that are tested for soft contacts; below 2 none are."""
        if self.soft_period is None or self.fixed_bound is not None:
            return 0
        return round(self.soft_period / self.sampling_period)

    def __post_init__(self) -> None:
        """Check every range, and what must fit together."""
        super().__post_init__()
        self.require("window", self.window >= self.smallest_window, "at least smallest_window")
        few = 1 <= self.confirmation_samples <= self.horizon
        self.require("confirmation_samples", few, f"1 to horizon={self.horizon}")


class AdaptiveWindowDetector(WindowedDetector):
    """Finds impacts as jumps of the velocity, from positions only.

    Attributes:
        tests: Weights of the newest positions in the prediction errors (tests, m).
        bounds: Largest errors that are no impact (tests, n), rad.
        memory: Samples after which, as long as nothing is irregular, all before is forgotten.
    """

    name: ClassVar[str] = "adaptive_window"
    _soft: AdaptiveWindowDetector | None = None
    _periods = 0

    def __init__(self, joint_count: int, parameters: AdaptiveWindowParameters | None = None) -> None:
        """Precompute the tests.

        Raises:
            InvalidInputError: A parameter per joint has another length than n.
        """
        self.parameters = chosen = parameters or AdaptiveWindowParameters()
        acceleration = per_joint(chosen, "acceleration_variation", joint_count)
        jerk = per_joint(chosen, "jerk_bound", joint_count)
        resolution = chosen.resolution(joint_count)
        noise = per_joint(chosen, "position_noise", joint_count)
        windows = range(chosen.smallest_window, chosen.window + 1)
        # The horizons beyond `horizon` only confirm, across missing samples too.
        last_horizon = chosen.horizon + chosen.confirmation_samples - 1 + LARGEST_GAP
        self._used = chosen.window + 1 + chosen.horizon
        # A bridged sample is made of others that are up to two gaps older.
        self.memory = length = max(chosen.window + 1 + last_horizon, self._used + 2 * LARGEST_GAP + 1)
        self._window_count = len(windows)
        horizons = [horizon for horizon in range(1, last_horizon + 1) for _ in windows]
        windows_of_tests = list(windows) * last_horizon
        tests = np.zeros((len(horizons), length))
        for row, (window, horizon) in enumerate(zip(windows_of_tests, horizons, strict=True)):
            tests[row, length - 1 - horizon - window : length - horizon] = -extrapolation_weights(window, horizon)
        tests[:, -1] = 1.0
        opening = len(windows) * chosen.horizon
        self.bounds = np.empty((opening, joint_count))
        for row in range(opening):
            for joint in range(joint_count):
                self.bounds[row, joint] = chosen.fixed_bound or detection_bound(
                    windows_of_tests[row],
                    horizons[row],
                    chosen.sampling_period,
                    acceleration[joint],
                    jerk[joint],
                    resolution[joint],
                    noise[joint],
                    chosen.sharp_bound,
                )
        self._confirming_tests = tests
        self.tests = np.ascontiguousarray(tests[:opening, -self._used :])
        self._needed = (np.array(windows_of_tests) + 1 + np.array(horizons))[:opening, None]
        self._mixed_bound = MixedBound(
            self.tests,
            np.array(horizons[:opening]),
            length,
            chosen.sampling_period,
            acceleration,
            jerk,
            resolution,
            noise,
        )
        self._inverse_bounds = 1.0 / self.bounds
        for constant in (tests, self.tests, self.bounds, self._inverse_bounds, self._needed):
            constant.setflags(write=False)
        self._errors = np.empty((opening, joint_count))
        self._excess = np.empty_like(self._errors)
        self._flat_excess = self._excess.reshape(-1)
        super().__init__(joint_count, chosen, length, kink_span=chosen.horizon + 1)
        self._stride = chosen.stride
        if self._stride > 1:
            soft = per_joint(chosen, "soft_variation", joint_count)
            longer = replace(
                chosen,
                sampling_period=self._stride * chosen.sampling_period,
                acceleration_variation=tuple(soft.tolist()),
                jerk_bound=tuple((jerk * soft / acceleration).tolist()),
                soft_period=None,
            )
            self._soft = AdaptiveWindowDetector(joint_count, longer)

    def update(self, sample: JointSample) -> ImpactEvent | None:
        """Take the next sample in; see `ImpactDetector.update`."""
        event = super().update(sample)
        if self._soft is None or event is not None or not self._steps:
            return event
        if self._window.fresh:
            self._restart_soft(0)
        if self._periods % self._stride:
            return None
        event = self._soft.update(sample)
        if event is not None:
            self.acknowledge()
        return event

    def reset(self) -> None:
        """Forget every sample and event; the drop counts stay."""
        super().reset()
        if self._soft is not None:
            self._soft.reset()

    def rearm(self) -> None:
        """End the refractory time, since the next impact may come at once."""
        super().rearm()
        if self._soft is not None:
            self._soft.rearm()

    def acknowledge(self) -> None:
        """Take note of an impact detected elsewhere at the newest sample: the refractory time begins."""
        super().acknowledge()
        if self._soft is not None:
            self._soft._last_event = self._window.time
            # Its newest sample may be one before the impact.
            self._restart_soft(-1)

    def _restart_soft(self, periods: int) -> None:
        """Forget the samples for soft contacts; the next one comes after as many sampling periods less than 0."""
        assert self._soft is not None
        self._soft._window.reset()
        self._soft._forget()
        self._periods = periods

    def _examine(self, sample: JointSample, steps: int) -> Finding | None:
        self._periods += steps
        self.level = self._largest_excess(steps)
        if self.level <= 1.0 and not self._confirmed:
            return None
        if self._confirmed:
            self._candidate_age += steps
            if self._grows():
                self._confirmed += 1
            else:
                self._discard_candidate()
                self.level = self._largest_excess(steps)
        if not self._confirmed:
            self._open_candidate()
        if self._confirmed < self.parameters.confirmation_samples:
            return None
        joint = self._first_joint
        counts = self._window.counts[self._candidate_joints]
        if self._window.counts[joint] < counts.max():
            # That joint's value got lost meanwhile; another one confirmed.
            joint = int(self._candidate_joints[counts.argmax()])
        return Finding(joint, np.maximum(self._candidate_residual, self._excess.max(axis=0)))

    def suspect(self) -> Finding:
        """The joint and residuals that the newest sample points at, confirmed or not."""
        residual = self._excess.max(axis=0)
        return Finding(int(residual.argmax()), residual)

    def _rest(self, sample: JointSample, steps: int) -> None:
        self._periods += steps
        if self._largest_excess(steps) > 1.0:
            self._window.restart_joints(np.asarray((self._excess > 1.0).any(axis=0)), 1)

    def _open_candidate(self) -> None:
        rows, joints = np.nonzero(self._excess > 1.0)
        if not len(rows):
            return
        self._candidate_rows, self._candidate_joints = rows, joints
        self._candidate_errors = self._errors[rows, joints]
        self._candidate_residual = self._excess.max(axis=0)
        self._first_joint = int(joints[self._excess[rows, joints].argmax()])
        self._confirmed = 1
        self._candidate_age = 0

    def _grows(self) -> bool:
        """Return whether a residual of the same window has grown since it first exceeded its threshold."""
        rows = self._candidate_rows + self._window_count * self._candidate_age
        known = rows < len(self._confirming_tests)
        rows, joints, then = rows[known], self._candidate_joints[known], self._candidate_errors[known]
        now = (self._confirming_tests[rows] * self._window.positions[:, joints].T).sum(axis=1)
        return bool((now * np.sign(then) >= np.abs(then)).any())

    def _forget(self) -> None:
        self._confirmed = 0
        self._candidate_age = 0
        self._first_joint = 0
        self._candidate_joints = np.zeros(0, dtype=np.int64)
        self._candidate_residual = np.zeros(self.joint_count)

    def _discard_candidate(self) -> None:
        """Mend the samples of a glitch, so that they can't look like a jump from later windows."""
        suspects = np.zeros(self.joint_count, dtype=bool)
        suspects[self._candidate_joints] = True
        if self._candidate_age == 1 and (self._window.counts[suspects] >= 4).all():
            self._window.mend(suspects, 1)
        else:
            self._window.restart_joints(suspects, 1)
        self._forget()

    def _largest_excess(self, steps: int) -> float:
        """Set `_errors` and `_excess`, the prediction errors of the newest sample and their share of the bounds."""
        window, errors, excess = self._window, self._errors, self._excess
        positions = window.positions[-self._used :]
        np.matmul(self.tests, positions, out=errors)
        np.abs(errors, out=excess)
        mixture, offsets = window.mixture, window.offsets
        if mixture is None and offsets is None:
            excess *= self._inverse_bounds
        else:
            excess /= self._widened_bounds(positions, mixture, offsets)
        if not window.full:
            excess *= self._needed <= window.counts
        if steps > 1:
            excess[: self._window_count * (steps - 1)] = 0.0
        return float(self._flat_excess[self._flat_excess.argmax()])

    def _widened_bounds(self, positions: Array, mixture: Array | None, offsets: Array | None) -> Array:
        """Bounds of the tests where samples are missing or stamps off the grid (tests, n), rad."""
        bounds = self.bounds
        if mixture is not None:
            mixed = self._mixed_bound
            fixed = self.parameters.fixed_bound
            wider = fixed * mixed.gain(mixture)[:, None] if fixed else mixed.bounds(mixture)
            bounds = np.maximum(bounds, wider)
        if offsets is not None:
            speed = np.abs(positions[1:] - positions[:-1]).max(axis=0) / self._window.period
            bounds = bounds + np.outer(np.abs(self.tests @ offsets[-self._used :]), speed)
        return np.asarray(bounds)
