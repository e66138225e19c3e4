"""Joint torques that differ from the expected ones by more than a threshold: Wang 2021, section VI.

    sum over the chosen joints of |tau_i - tau*_i| > tau_0

Wang 2021 takes joints 5 and 6 of a Panda, the controller's torques as tau*, and tau_0 between 1.5 and 1.8 N m. Where
the samples carry no expected torque, the median of the last measured ones is expected next; a quick change of the
command then looks like an impact, so the threshold must be above the quickest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from impact_aware.detection.events import Array, JointSample
from impact_aware.detection.ring import Ring, median_row
from impact_aware.detection.windowed_detector import (
    Finding,
    WindowedDetector,
    WindowParameters,
    finite_row,
    joint_mask,
    ranged,
)


@dataclass(frozen=True)
class TorqueResidualParameters(WindowParameters):
    """Parameters of the torque-residual detector.

    Attributes:
        threshold: tau_0, N m, on the sum over the chosen joints.
        joints: Indices of those joints; None for all.
        effort_sign: 1, or -1 where the source counts torques the other way round than `effort_reference`.
        baseline_samples: Samples whose median is the expected torque where none is given.
        baseline_gap: Samples between them and the newest one, so that an impact does not raise its own expectation.
        bias_removal: Take the median residual of the same samples away, so that friction and payload don't count.
        confirmation_samples: Samples in a row that have to be over the threshold.
    """

    threshold: float = ranged(8.0, "more than 0 N m", lambda value: value > 0.0)
    joints: tuple[int, ...] | None = None
    effort_sign: float = ranged(1.0, "1 or -1", lambda value: value in (-1.0, 1.0))
    baseline_samples: int = ranged(10, "at least 1", lambda value: value >= 1)
    baseline_gap: int = ranged(5, "0 or more", lambda value: value >= 0)
    bias_removal: bool = True
    confirmation_samples: int = ranged(2, "at least 1", lambda value: value >= 1)


class TorqueResidualDetector(WindowedDetector):
    """Finds impacts as torques that nobody asked for."""

    name: ClassVar[str] = "torque_residual"

    def __init__(self, joint_count: int, parameters: TorqueResidualParameters | None = None) -> None:
        """Check the parameters against the number of joints.

        Raises:
            InvalidInputError: A joint that there is not.
        """
        self.parameters = chosen = parameters or TorqueResidualParameters()
        self._watched = joint_mask(chosen, "joints", joint_count)
        self._weights = self._watched.astype(np.float64)
        self._baseline = slice(0, chosen.baseline_samples)
        self._residuals = Ring(chosen.baseline_samples + chosen.baseline_gap + 1, joint_count)
        self._over = 0
        self._had_reference = True
        length = max(20, self._residuals.length + chosen.confirmation_samples)
        super().__init__(joint_count, chosen, length, kink_span=6)

    def _forget(self) -> None:
        self._residuals.restart()
        self._over = 0

    def _rest(self, sample: JointSample, steps: int) -> None:
        self._measure(sample)

    def _examine(self, sample: JointSample, steps: int) -> Finding | None:
        residual = self._measure(sample)
        if residual is not None:
            self.level = float(residual.dot(self._weights)) / self.parameters.threshold
        if residual is None or self.level <= 1.0:
            self._over = 0
            return None
        self._over += 1
        if self._over < self.parameters.confirmation_samples:
            return None
        shares = residual * self._weights / self.parameters.threshold
        return Finding(int(shares.argmax()), shares)

    def _measure(self, sample: JointSample) -> Array | None:
        """Return |tau - tau*| (n,), or None where nothing is expected yet."""
        effort = finite_row(sample.effort, self.joint_count)
        if effort is None:
            self._forget()
            return None
        reference = finite_row(sample.effort_reference, self.joint_count)
        has_reference = reference is not None
        if has_reference != self._had_reference:
            self._forget()
            self._had_reference = has_reference
        residual = self.parameters.effort_sign * effort
        if reference is not None:
            residual -= reference
        ring = self._residuals
        ring.push(residual)
        if reference is None or self.parameters.bias_removal:
            if ring.count < ring.length:
                return None
            residual = residual - median_row(ring.rows[self._baseline])
        return np.abs(residual)
