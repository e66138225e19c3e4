"""Generalized momentum that changes without a torque that could have done it.

With p = M(q) dq, the equation of motion reads dp/dt = tau + C(q, dq)^T dq - g(q) + tau_ext, so over N periods

    r_k = (p_k - p_{k-N}) / (N h) - median of (tau + C^T dq - g) over them

is the mean external torque: the momentum observer with a finite memory, which forgets at once after N h (about 2/K of
the first-order one with gain K) and is valid again N samples after a gap. The median of three or more is the mean
wherever the torques change evenly, and a wrong torque in one sample is not in it. Friction, payload and calibration
change slowly: the median of r before the last N periods is taken away.

An impact is what neither the torques nor the inertia can be wrong by, in all joints together:

    r^T (diag(threshold)^2 + M diag(a)^2 M)^-1 r > 1.

The first part is friction and the torque sensors, which go with the size of the drive: a wrist is as sensitive to its
torques as a shoulder to its larger ones. The second is noise of the velocities and a wrong inertia, which act like
accelerations of size a: their effect on one joint's torque comes with effects on the others' through M, so an impact
that pushes the joints in other proportions can be separated from them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pinocchio as pin
from scipy.linalg import lapack

from impact_aware.detection.events import Array, JointSample
from impact_aware.detection.ring import Ring, median_row
from impact_aware.detection.windowed_detector import (
    Finding,
    PerJoint,
    WindowedDetector,
    WindowParameters,
    finite_row,
    per_joint,
    ranged,
    ranged_per_joint,
)
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import EFFORT_KINDS, effort_kind_of

DRIVE_SHARE = 0.1
"""Default threshold of an impact at a joint, as a share of its drive's largest torque."""

LARGEST_THRESHOLD = 6.0
"""External torque that is always an impact then, N m; also where the robot's description knows no largest torque."""

PERIODS = 3
"""N, the sampling periods over which the external torque is averaged."""

BASELINE_SAMPLES = 10
"""Earlier values of r whose median is taken away."""

VELOCITY_SAMPLES = 5
"""Positions in the line fit that stands in for a velocity that the samples don't carry."""

CONFIRMATION_SAMPLES, CONFIRMATION_SHARE = 2, 0.6
"""Samples in a row that show an impact, the last one in full, and the share that the earlier of them reach."""


@dataclass(frozen=True)
class MomentumObserverParameters(WindowParameters):
    """Parameters of the momentum observer.

    Attributes:
        threshold: External torque that is an impact, N m, one or per joint; None for `DRIVE_SHARE` of the joint's
            largest torque, at most `LARGEST_THRESHOLD`.
        acceleration_error: a, what noise and a wrong inertia may feign, rad/s^2, one or per joint.
        effort_sign: 1, or -1 where the source counts torques as the robot's on its surroundings.
    """

    threshold: PerJoint | None = ranged_per_joint(None)
    acceleration_error: PerJoint = ranged_per_joint(5.0, positive=False)
    effort_sign: float = ranged(1.0, "1 or -1", lambda value: value in (-1.0, 1.0))


class MomentumObserverDetector(WindowedDetector):
    """Finds impacts as external joint torques, from positions, velocities, efforts and the robot's model."""

    name: ClassVar[str] = "momentum_observer"

    def __init__(
        self, joint_count: int, parameters: MomentumObserverParameters | None = None, *, robot: RobotModel
    ) -> None:
        """Prepare; `robot` can't be shared with another thread.

        The profile's `effort_kind` decides which inertia the torques accelerate and whether they contain gravity;
        without a profile they are link torques.

        Raises:
            InvalidInputError: The robot has another number of joints or measures no torques, or a threshold is missing.
        """
        if robot.n != joint_count:
            raise InvalidInputError("robot", f"{robot.n} joints", f"{joint_count} joints")
        self.parameters = chosen = parameters or MomentumObserverParameters()
        self._robot = robot
        kind = EFFORT_KINDS["link_torque"] if robot.profile is None else effort_kind_of(robot.profile)
        if not kind.is_torque:
            expected = f"{', '.join(name for name, own in EFFORT_KINDS.items() if own.is_torque)} for momentum_observer"
            raise InvalidInputError(f"robot profile {robot.name}: effort_kind", "current", expected)
        # A model of its own, since B_theta is part of M or not depending on where the torque is measured.
        self._model = robot.model.copy()
        self._model.armature = robot.motor_inertia_for(kind.inertia)
        self._carried = 1.0 - kind.missing_gravity
        self._data = self._model.createData()
        own = threshold_of(robot) if chosen.threshold is None else per_joint(chosen, "threshold", joint_count)
        self._threshold, self._torque_errors = own, np.diag(own**2)
        self._acceleration_variance = per_joint(chosen, "acceleration_error", joint_count) ** 2
        self._momenta = Ring(PERIODS + 1, joint_count)
        self._drives = Ring(PERIODS, joint_count)
        self._externals = Ring(BASELINE_SAMPLES + PERIODS + 1, joint_count)
        grid = np.arange(VELOCITY_SAMPLES, dtype=np.float64)
        grid -= grid.mean()
        self._slope = grid / (grid @ grid) / chosen.sampling_period
        self._zero = np.zeros(joint_count)
        self._over = 0
        self._had_velocity = True
        history = PERIODS + self._externals.length + VELOCITY_SAMPLES
        super().__init__(joint_count, chosen, history, kink_span=PERIODS + 4)

    def _forget(self) -> None:
        self._momenta.restart()
        self._drives.restart()
        self._externals.restart()
        self._over = 0

    def _rest(self, sample: JointSample, steps: int) -> None:
        self._measure(sample, steps)

    def _examine(self, sample: JointSample, steps: int) -> Finding | None:
        external = self._measure(sample, steps)
        if external is not None:
            self.level = self._size(self._window.positions[-1], external)
        if external is None or self.level <= CONFIRMATION_SHARE:
            self._over = 0
            return None
        self._over += 1
        if self.level <= 1.0 or self._over < CONFIRMATION_SAMPLES:
            return None
        shares = np.abs(external) / self._threshold
        return Finding(int(shares.argmax()), shares)

    def _measure(self, sample: JointSample, steps: int) -> Array | None:
        """Return the change of the external torque (n,), N m, or None while it is not known."""
        effort = finite_row(sample.effort, self.joint_count)
        velocity = finite_row(sample.velocity, self.joint_count)
        has_velocity = velocity is not None
        if steps > 1 or effort is None or has_velocity != self._had_velocity:
            self._forget()
            self._had_velocity = has_velocity
        if velocity is None:
            if self._window.counts.min() < VELOCITY_SAMPLES:
                return None
            velocity = self._slope @ self._window.positions[-VELOCITY_SAMPLES:]
        if effort is None:
            return None
        momentum, drive = self._momentum_and_drive(self._window.positions[-1], velocity, effort)
        self._momenta.push(momentum)
        self._drives.push(drive)
        if self._momenta.count < self._momenta.length:
            return None
        duration = PERIODS * self.parameters.sampling_period
        external = (self._momenta.rows[-1] - self._momenta.rows[0]) / duration - median_row(self._drives.rows)
        self._externals.push(external)
        if self._externals.count < self._externals.length:
            return None
        return external - median_row(self._externals.rows[:BASELINE_SAMPLES])

    def _size(self, position: Array, external: Array) -> float:
        """Return the external torque (n,) over what may be wrong, in all joints together."""
        inertia = pin.crba(self._model, self._data, position)
        errors = (inertia * self._acceleration_variance).dot(inertia)
        errors += self._torque_errors
        _, explained, failed = lapack.dposv(errors, external)
        size = float(external.dot(explained))
        # Numbers that overflow are no torques.
        return math.sqrt(size) if not failed and size > 0.0 else 0.0

    def _momentum_and_drive(self, position: Array, velocity: Array, effort: Array) -> tuple[Array, Array]:
        """Return p = M dq and tau + C^T dq - g, without g where the measured torques lack it."""
        model, data = self._model, self._data
        gravity = pin.computeGeneralizedGravity(model, data, position).copy()
        momentum = pin.rnea(model, data, position, self._zero, velocity) - gravity
        coriolis = pin.computeCoriolisMatrix(model, data, position, velocity)
        return momentum, self.parameters.effort_sign * effort + velocity @ coriolis - self._carried * gravity


def threshold_of(robot: RobotModel) -> Array:
    """External torque that is an impact at each joint (n,), N m, by the size of its drive."""
    largest = robot.limits.effort
    known = np.isfinite(largest) & (largest > 0.0)
    return np.minimum(np.where(known, DRIVE_SHARE * largest, LARGEST_THRESHOLD), LARGEST_THRESHOLD)
