"""The jump-aware adaptive window: predict the next positions, and call an impact what no smooth motion can do.

A parabola fitted to the last w+1 positions is extrapolated m periods (paper 004, (2.20)-(2.25)); `prediction_bound`
says how wrong that can be without an impact. The thesis tests the one window that has grown to w_i, one period ahead.
The bound holds for every shorter window and longer horizon as well, and which of them shows a jump first depends on its
size and on the encoder; so all of them are tested at once, as one small matrix product, and the first excess counts.
After an impact every window starts again.

A jump keeps growing in the positions and an encoder glitch does not: an excess has to be confirmed by a larger error at
the next sample, predicted from the very window that showed the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from impact_aware.detection.detector import ImpactDetector, _Recording
from impact_aware.detection.events import Array, ImpactEvent, JointSample
from impact_aware.detection.kink import fit_kink
from impact_aware.detection.motion_window import GRID_TOLERANCE, DropCounts, MotionWindow
from impact_aware.detection.prediction_bound import detection_bound, extrapolation_weights
from impact_aware.errors import InvalidInputError

PerJoint = float | tuple[float, ...]


@dataclass(frozen=True)
class AdaptiveWindowParameters:
    """Parameters of the adaptive-window detector; the defaults are those of paper 004, section 4.3, where it gives one.

    Attributes:
        sampling_period: Time between samples, s.
        window: Largest fitted window W, so W+1 samples.
        smallest_window: Smallest fitted window, so one sample more; `window` for the single window of the thesis.
        horizon: Largest number of periods that a prediction looks ahead.
        acceleration_variation: Variation of the acceleration da that is no impact, rad/s^2, one or per joint.
        jerk_bound: Jerk j that is no impact, rad/s^3, one or per joint.
        encoder_resolution: Step r of the position signal, rad, one or per joint.
        position_noise: Standard deviation of the position noise beside the steps, rad, one or per joint.
        noise_multiple: Standard deviations of that noise that a prediction error may have.
        sharp_bound: Use the sharper of the two bounds of `prediction_bound`; False for (2.33) itself.
        fixed_bound: Bound on every prediction error in place of the derived one, rad; the thesis uses 0.7e-3.
        confirmation_samples: Samples in a row that have to be out of bounds; 1 is quickest and takes a glitch for an
            impact.
        refractory_time: Time after an event in which no other is reported, s.
        largest_gap: Missing samples in a row that are bridged.
    """

    sampling_period: float = 1e-3
    window: int = 12
    smallest_window: int = 2
    horizon: int = 4
    acceleration_variation: PerJoint = 20.0
    jerk_bound: PerJoint = 30000.0
    encoder_resolution: PerJoint = 1e-5
    position_noise: PerJoint = 0.0
    noise_multiple: float = 6.0
    sharp_bound: bool = True
    fixed_bound: float | None = None
    confirmation_samples: int = 2
    refractory_time: float = 0.04
    largest_gap: int = 3

    def __post_init__(self) -> None:
        """Check every range."""
        _require(self, "sampling_period", self.sampling_period > 0.0, "more than 0 s")
        _require(self, "smallest_window", self.smallest_window >= 2, "at least 2, as a parabola needs three samples")
        _require(self, "window", self.window >= self.smallest_window, "at least smallest_window")
        _require(self, "horizon", self.horizon >= 1, "at least 1")
        _require(self, "noise_multiple", self.noise_multiple > 0.0, "more than 0")
        _require(self, "fixed_bound", self.fixed_bound is None or self.fixed_bound > 0.0, "more than 0 rad, or None")
        few = 1 <= self.confirmation_samples <= self.horizon
        _require(self, "confirmation_samples", few, f"1 to horizon={self.horizon}")
        _require(self, "refractory_time", self.refractory_time >= 0.0, "0 s or more")
        _require(self, "largest_gap", self.largest_gap >= 0, "0 or more")
        for name, positive in (
            ("acceleration_variation", True),
            ("jerk_bound", True),
            ("encoder_resolution", False),
            ("position_noise", False),
        ):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            allowed = np.isfinite(values) & ((values > 0.0) if positive else (values >= 0.0))
            fine = values.ndim <= 1 and bool(allowed.all())
            _require(self, name, fine, "finite and " + ("> 0" if positive else ">= 0"))


def _require(parameters: object, name: str, fine: bool, expected: str) -> None:
    if not fine:
        raise InvalidInputError(name, getattr(parameters, name), expected)


class AdaptiveWindowDetector(ImpactDetector):
    """Finds impacts as jumps of the velocity, from positions only."""

    name: ClassVar[str] = "adaptive_window"

    def __init__(self, joint_count: int, parameters: AdaptiveWindowParameters | None = None) -> None:
        """Precompute the tests.

        Args:
            joint_count: Number of joints n.
            parameters: Parameters; defaults if None.

        Raises:
            InvalidInputError: A parameter per joint has another length than n.
        """
        self.joint_count = joint_count
        self.parameters = chosen = parameters or AdaptiveWindowParameters()
        acceleration = self._per_joint("acceleration_variation")
        jerk = self._per_joint("jerk_bound")
        resolution = self._per_joint("encoder_resolution")
        noise = self._per_joint("position_noise")
        # A signal without steps still has rounding.
        self._noise_std = np.sqrt(resolution**2 / 12.0 + noise**2) + 1e-9
        windows = range(chosen.smallest_window, chosen.window + 1)
        # The horizons beyond `horizon` only confirm, across missing samples too.
        last_horizon = chosen.horizon + chosen.confirmation_samples - 1 + chosen.largest_gap
        length = chosen.window + 1 + last_horizon
        self._window_count = len(windows)
        horizons = [horizon for horizon in range(1, last_horizon + 1) for _ in windows]
        windows_of_tests = list(windows) * last_horizon
        tests = np.zeros((len(horizons), length))
        for row, (window, horizon) in enumerate(zip(windows_of_tests, horizons, strict=True)):
            tests[row, length - 1 - horizon - window : length - horizon] = -extrapolation_weights(window, horizon)
        tests[:, -1] = 1.0
        opening = len(windows) * chosen.horizon
        self._bounds = np.empty((opening, joint_count))
        for row in range(opening):
            for joint in range(joint_count):
                self._bounds[row, joint] = chosen.fixed_bound or detection_bound(
                    windows_of_tests[row],
                    horizons[row],
                    chosen.sampling_period,
                    acceleration[joint],
                    jerk[joint],
                    resolution[joint],
                    noise[joint],
                    chosen.noise_multiple,
                    chosen.sharp_bound,
                )
        self._used = chosen.window + 1 + chosen.horizon
        self._confirming_tests = tests
        self._tests = np.ascontiguousarray(tests[:opening, -self._used :])
        self._needed = (np.array(windows_of_tests) + 1 + np.array(horizons))[:opening, None]
        self._amplification = np.abs(self._tests).sum(axis=1)[:, None]
        self._inverse_bounds = 1.0 / self._bounds
        for constant in (tests, self._tests, self._bounds, self._inverse_bounds, self._needed):
            constant.setflags(write=False)
        self._errors = np.empty((opening, joint_count))
        self._excess = np.empty_like(self._errors)
        self._flat_excess = self._excess.reshape(-1)
        self._window = MotionWindow(joint_count, length, chosen.sampling_period, chosen.largest_gap, resolution)
        self.reset()

    @property
    def drops(self) -> DropCounts:
        """What was refused or mended since construction."""
        return self._window.drops

    @property
    def memory(self) -> int:
        """Samples after which a settled detector has forgotten all before."""
        return self._window.length

    @property
    def settled(self) -> bool:
        """Whether only the last `memory` samples and the last event matter."""
        return self._window.settled and self._confirmed == 0

    def reset(self) -> None:
        """Forget every sample and event; the drop counts stay."""
        self._last_event = -np.inf
        self._window.reset()
        self._drop_candidate()

    def update(self, sample: JointSample) -> ImpactEvent | None:
        """Take the next sample in; see `ImpactDetector.update`."""
        window = self._window
        before = window.time
        steps = window.accept(sample)
        if not steps:
            return None
        if window.fresh:
            self._drop_candidate()
            if window.time < before:
                self._last_event = -np.inf
        if self._largest_excess(steps) <= 1.0 and not self._confirmed:
            return None
        return self._judge(steps)

    def _judge(self, steps: int) -> ImpactEvent | None:
        window = self._window
        if window.time - self._last_event < self.parameters.refractory_time:
            window.restart_joints(np.asarray((self._excess > 1.0).any(axis=0)), 1)
            return None
        if self._confirmed:
            self._candidate_age += steps
            if self._grows():
                self._confirmed += 1
            else:
                self._discard_candidate()
                self._largest_excess(steps)
        if not self._confirmed:
            self._open_candidate()
        if self._confirmed >= self.parameters.confirmation_samples:
            return self._conclude()
        return None

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
        """Tell whether some prediction that failed first fails by more now, made from the same window."""
        rows = self._candidate_rows + self._window_count * self._candidate_age
        known = rows < len(self._confirming_tests)
        rows, joints, then = rows[known], self._candidate_joints[known], self._candidate_errors[known]
        now = (self._confirming_tests[rows] * self._window.positions[:, joints].T).sum(axis=1)
        return bool((now * np.sign(then) >= np.abs(then)).any())

    def _drop_candidate(self) -> None:
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
        self._drop_candidate()

    def _conclude(self) -> ImpactEvent:
        window, chosen = self._window, self.parameters
        joint = self._first_joint
        if window.counts[joint] < window.counts[self._candidate_joints].max():
            # That joint's value got lost meanwhile; another one confirmed.
            joint = int(self._candidate_joints[window.counts[self._candidate_joints].argmax()])
        residual = np.maximum(self._candidate_residual, self._excess.max(axis=0))
        count = int(window.counts[joint])
        used = window.counts >= count
        shape = (self.joint_count,)
        velocity_before, velocity_after = np.full(shape, np.nan), np.full(shape, np.nan)
        positions = window.positions
        position = positions[-1].copy()
        earliest = -(chosen.horizon + 1.0) * chosen.sampling_period
        kink = fit_kink(positions[-count:, used], chosen.sampling_period, earliest, self._noise_std[used])
        position[used] = kink.position
        velocity_before[used] = kink.velocity_before
        velocity_after[used] = kink.velocity_after
        event = ImpactEvent(
            time=window.time + kink.time,
            time_detected=window.time,
            time_std=kink.time_std,
            detector=self.name,
            joint=joint,
            position=position,
            velocity_before=velocity_before,
            velocity_after=velocity_after,
            residual=residual,
            confidence=kink.explained,
        )
        self._last_event = window.time
        self._drop_candidate()
        window.restart_joints(np.ones(shape, dtype=bool), 1)
        return event

    def _largest_excess(self, steps: int) -> float:
        """Set `_errors` and `_excess`, the prediction errors of the newest sample and their share of the bounds."""
        window, errors, excess = self._window, self._errors, self._excess
        positions = window.positions[-self._used :]
        np.matmul(self._tests, positions, out=errors)
        np.abs(errors, out=excess)
        jitter = window.jitter
        if jitter:
            # A stamp that is off the grid by d displaces a sample by |v| d.
            speed = np.abs(positions[-1] - positions[0]) / ((self._used - 1) * window.period)
            excess /= self._bounds + self._amplification * (jitter * speed)
        else:
            excess *= self._inverse_bounds
        if not window.full:
            excess *= self._needed <= window.counts
        if steps > 1:
            excess[: self._window_count * (steps - 1)] = 0.0
        return float(self._flat_excess[self._flat_excess.argmax()])

    def _screen(self, recording: _Recording) -> NDArray[np.bool_]:
        marked = recording.irregular(self.parameters.sampling_period, GRID_TOLERANCE)
        # Another order of summation than `update` uses may differ in the last digits.
        limit = 1.0 - 1e-6
        for first, windows in recording.blocks(self._used):
            with np.errstate(invalid="ignore"):
                excess = np.abs(np.matmul(self._tests, windows)) * self._inverse_bounds
                marked[first : first + len(windows)] |= ~(excess.max(axis=(1, 2)) < limit)
        return marked

    def _resume(self) -> None:
        self._window.resume()
        self._drop_candidate()

    def _per_joint(self, name: str) -> Array:
        value = getattr(self.parameters, name)
        if np.ndim(value) and len(value) != self.joint_count:
            raise InvalidInputError(name, value, f"one value or {self.joint_count} of them")
        return np.broadcast_to(np.asarray(value, dtype=np.float64), (self.joint_count,)).copy()
