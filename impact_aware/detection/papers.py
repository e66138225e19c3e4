"""Detectors of the papers, which the adaptive window and the momentum observer are compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.contact.geometry import unit_vector
from impact_aware.detection.adaptive_window import AdaptiveWindowDetector, AdaptiveWindowParameters
from impact_aware.detection.events import Array, JointSample
from impact_aware.detection.motion_window import LARGEST_GAP
from impact_aware.detection.ring import Ring, median_row
from impact_aware.detection.windowed_detector import (
    Finding,
    PerJoint,
    WindowedDetector,
    WindowParameters,
    finite_row,
    joint_mask,
    per_joint,
    ranged,
    ranged_per_joint,
)
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

HALF_WIDTH = 2
"""Half the width of the central difference of positions, sampling periods."""

CONFIRMATION_SHARE = 0.4
"""Share of the threshold that the acceleration must reach with the same sign at the next sample."""

BASELINE_SAMPLES, BASELINE_GAP = 10, 5
"""Samples whose median torque residual is friction and payload, or the expected torque, and those between them and the
newest one, so that an impact does not raise its own expectation."""

OVER_THRESHOLD = 2
"""Samples in a row whose torque residual is over the threshold."""


@dataclass(frozen=True)
class AccelerationParameters(WindowParameters):
    """Parameters of the acceleration detector.

    Attributes:
        threshold: Acceleration that is an impact, rad/s^2, one or per joint.
        joints: Indices of the joints to watch; None for all.
    """

    threshold: PerJoint = ranged_per_joint(45.0)
    joints: tuple[int, ...] | None = None


class AccelerationDetector(WindowedDetector):
    """Joint acceleration by central differences over a threshold: Rey Arias 2024, section IV-A.

    The joints are watched in parallel, the earliest counts (Rey Arias 2024 leaves joint 7 out). A sample
    shows the acceleration s = `HALF_WIDTH` periods before, (q_k - 2 q_{k-s} + q_{k-2s}) / (s h)^2, whose error is up to
    2 r / (s h)^2 for an encoder step r.

    Where a sample of the second difference is bridged, the difference has other weights. The acceleration is then
    divided by the factor by which encoder errors, or the accelerations themselves, count more than in the plain
    difference.
    """

    name: ClassVar[str] = "acceleration"

    def __init__(self, joint_count: int, parameters: AccelerationParameters | None = None) -> None:
        """Check the parameters against the number of joints.

        Raises:
            InvalidInputError: A threshold too few, or a joint that there is not.
        """
        self.parameters = chosen = parameters or AccelerationParameters()
        self._watched = joint_mask(chosen, "joints", joint_count)
        inverse = np.where(self._watched, 1.0 / per_joint(chosen, "threshold", joint_count), 0.0)
        self._width = 2 * HALF_WIDTH
        self._scale = inverse / (HALF_WIDTH * chosen.sampling_period) ** 2
        self._shares = np.zeros(joint_count)
        self._previous = np.zeros(joint_count)
        length = max(16, 3 * self._width, self._width + 2 * LARGEST_GAP + 2)
        self._difference = np.zeros((1, self._width + 1))
        self._difference[0, [0, -1]] = 1.0
        self._difference[0, HALF_WIDTH] = -2.0
        ages = np.arange(length - 1.0, -1.0, -1.0)
        self._kernel = np.maximum(ages[:, None] - ages, 0.0)
        super().__init__(joint_count, chosen, length=length, kink_span=self._width + 4)

    def _forget(self) -> None:
        self._previous[:] = 0.0

    def _rest(self, sample: JointSample, steps: int) -> None:
        self._measure()
        self._previous[:] = self._shares

    def _examine(self, sample: JointSample, steps: int) -> Finding | None:
        self._measure()
        magnitudes = np.abs(self._shares)
        self.level = float(magnitudes[magnitudes.argmax()])
        strongest = np.abs(self._previous)
        out = (strongest >= 1.0) & (self._shares * np.sign(self._previous) >= CONFIRMATION_SHARE)
        self._previous[:] = self._shares
        if not out.any():
            return None
        return Finding(int(np.where(out, strongest, 0.0).argmax()), np.maximum(strongest, magnitudes))

    def _measure(self) -> None:
        """Put the accelerations over their thresholds into `_shares`, less what gaps and stamps may have put there."""
        width, rows = self._width, self._window.positions
        np.subtract(rows[-1] + rows[-1 - width], 2.0 * rows[-1 - width // 2], out=self._shares)
        self._shares *= self._scale
        if not self._window.full:
            self._shares *= self._window.counts > width
        mixture, offsets = self._window.mixture, self._window.offsets
        if offsets is not None:
            speed = np.abs(rows[1:] - rows[:-1]).max(axis=0) / self._window.period
            moved = abs(float(self._difference[0] @ offsets[-self._width - 1 :])) * speed * np.abs(self._scale)
            self._shares = np.sign(self._shares) * np.maximum(np.abs(self._shares) - moved, 0.0)
        if mixture is not None:
            weights = (self._difference @ mixture[-self._width - 1 :])[0]
            steps = float(np.abs(weights).sum()) / 4.0
            motion = float(np.abs(self._kernel @ weights).sum()) / HALF_WIDTH**2
            self._shares /= max(steps, motion, 1.0)


@dataclass(frozen=True)
class TorqueResidualParameters(WindowParameters):
    """Parameters of the torque-residual detector.

    Attributes:
        threshold: tau_0, N m, on the sum over the chosen joints.
        joints: Indices of those joints; None for all.
    """

    threshold: float = ranged(8.0, "more than 0 N m", lambda value: value > 0.0)
    joints: tuple[int, ...] | None = None


class TorqueResidualDetector(WindowedDetector):
    """Joint torques that differ from the expected ones by more than a threshold: Wang 2021, section VI.

        sum over the chosen joints of |tau_i - tau*_i| > tau_0

    Wang 2021 takes joints 5 and 6 of a Panda, the controller's torques as tau*, and tau_0 between 1.5 and 1.8 N m.
    Where the samples carry no expected torque, the median of the last measured ones is expected next; a quick change of
    the command then looks like an impact, so the threshold must be above the quickest one. The residual's median
    is taken away as well, so that friction and payload don't count.
    """

    name: ClassVar[str] = "torque_residual"

    def __init__(self, joint_count: int, parameters: TorqueResidualParameters | None = None) -> None:
        """Check the parameters against the number of joints.

        Raises:
            InvalidInputError: A joint that there is not.
        """
        self.parameters = chosen = parameters or TorqueResidualParameters()
        self._watched = joint_mask(chosen, "joints", joint_count)
        self._weights = self._watched.astype(np.float64)
        self._residuals = Ring(BASELINE_SAMPLES + BASELINE_GAP + 1, joint_count)
        self._over = 0
        self._had_reference = True
        length = max(20, self._residuals.length + OVER_THRESHOLD)
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
        if self._over < OVER_THRESHOLD:
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
        residual = effort if reference is None else effort - reference
        ring = self._residuals
        ring.push(residual)
        if ring.count < ring.length:
            return None
        return np.abs(residual - median_row(ring.rows[:BASELINE_SAMPLES]))


def impact_sensitivity(robot: RobotModel, position: Array, normal: ArrayLike) -> Array:
    """Change of joint velocity per normal impulse at the tool, gamma of Aouaj thesis, (4.11), with M + B_theta.

    Args:
        robot: The arm.
        position: Joint positions (n,), rad.
        normal: Contact normal from the obstacle into the robot (3,), base frame.

    Returns:
        gamma (n,), rad/s per N s.
    """
    jacobian = robot.frame_jacobian(position)[:3]
    return np.asarray(np.linalg.solve(robot.mass_matrix(position), jacobian.T @ unit_vector("normal", normal)))


class SensitiveJointDetector(AdaptiveWindowDetector):
    """The adaptive window on the joint that the expected contact moves most: Aouaj thesis, (4.10)-(4.12).

    A frictionless impact with normal impulse Lambda_N changes the joint velocities by gamma(q) Lambda_N with

        gamma = (M + B_theta)^-1 J_N^T,

    so the joint with the largest |gamma_i| shows it first. Watching only that one keeps the others' vibrations from
    raising alarms; it needs the position and direction of the contact. `soft_period` has no effect.

    Attributes:
        normal: Expected contact normal from the obstacle into the robot, unit vector (3,), base frame.
    """

    name: ClassVar[str] = "sensitive_joint"

    def __init__(
        self,
        joint_count: int,
        parameters: AdaptiveWindowParameters | None = None,
        *,
        robot: RobotModel,
        normal: ArrayLike,
    ) -> None:
        """Prepare.

        Args:
            joint_count: Number of joints n.
            parameters: Parameters; defaults if None.
            robot: The arm, which can't be shared with another thread.
            normal: Expected contact normal from the obstacle into the robot (3,), base frame.

        Raises:
            InvalidInputError: The robot has another number of joints, or the normal has no direction.
        """
        if robot.n != joint_count:
            raise InvalidInputError("robot", f"{robot.n} joints", f"{joint_count} joints")
        self._robot, self.normal = robot, unit_vector("normal", normal)
        super().__init__(joint_count, replace(parameters or AdaptiveWindowParameters(), soft_period=None))

    def _largest_excess(self, steps: int) -> float:
        largest = super()._largest_excess(steps)
        if largest <= 1.0:
            return largest
        # The posture matters only once something is out of bounds, so the model stays out of the quiet cycles.
        joint = int(np.abs(impact_sensitivity(self._robot, self._window.positions[-1], self.normal)).argmax())
        watched = self._excess[:, joint].copy()
        self._excess[:] = 0.0
        self._excess[:, joint] = watched
        return float(watched.max())
