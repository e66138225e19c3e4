"""How hard a tool is being pressed, from measured joint torques: a first-order momentum observer.

With p = M(q) dq and measured joint torques tau, whose kind decides which inertia M is,

    r = K (p - p_0 - integral of (tau + C^T dq - g + r) dt)

follows the external joint torque with the time constant 1/K, and needs no joint acceleration. The force at the tool is
the least-squares solution of J_v^T f = r. The time constant is longer than an impact on purpose: its peak, which lasts
milliseconds, is meant to happen.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.compiled import MATRIX, NOTHING, NUMBER, VECTOR, WRITTEN_VECTOR, compiled
from impact_aware.control.arm import ControlledArm

TIME_CONSTANT = 0.05
"""1/K, s."""

REGULARISATION = 1e-4
"""Regularisation of the least-squares force, m^2: bounds it where the tool can't be moved in some direction."""


class ContactForceObserver:
    """Estimates the force at one arm's tool.

    Attributes:
        external_torque: (n,) Estimate of the external joint torque, N m.
    """

    def __init__(self, arm: ControlledArm, period: float = 0.001) -> None:
        """Prepare.

        Args:
            arm: As the controller refreshes it.
            period: Time between two states, s.
        """
        self._arm, self._gain = arm, 1.0 / TIME_CONSTANT
        self._longest = 10.0 * period
        self._model, self._data = arm.robot.model, arm.robot.model.createData()
        self._armature = arm.unmeasured_inertia
        self.external_torque = np.zeros(arm.robot.n)
        self.reset()

    def reset(self) -> None:
        """Start over."""
        self._integral: Array | None = None
        self.external_torque[:] = 0.0

    def update(self, q: Array, dq: Array, effort: Array, interval: float) -> float:
        """Take one state in; the arm must have been refreshed with it.

        Args:
            q: (n,) rad.
            dq: (n,) rad/s.
            effort: (n,) Measured joint torque with gravity, N m; what is not finite starts the observer over.
            interval: Time since the last state, s.

        Returns:
            The estimated force, N; 0 while nothing is known.
        """
        if self._integral is not None and not 0.0 < interval <= self._longest:
            self.reset()
        # Squares of anything that is not finite are not finite either, and quickly summed up.
        if not math.isfinite(float(effort @ effort)):
            if self._integral is not None:
                self.reset()
            return 0.0
        arm = self._arm
        if self._integral is None:
            self._integral = arm.mass_matrix @ dq - self._armature * dq
            return 0.0
        coriolis = pin.computeCoriolisMatrix(self._model, self._data, q, dq)
        external = self.external_torque
        own = arm.mass_matrix, self._armature, coriolis, dq, effort, arm.bias
        observe_torque(*own, interval, self._gain, self._integral, external)
        return force_of_torque(arm.jacobian, external, REGULARISATION)


@compiled(
    NOTHING, MATRIX, VECTOR, MATRIX, VECTOR, VECTOR, VECTOR, NUMBER, NUMBER, WRITTEN_VECTOR, WRITTEN_VECTOR
)  # fmt: skip
def observe_torque(
    mass_matrix: Array,
    armature: Array,
    coriolis: Array,
    dq: Array,
    effort: Array,
    bias: Array,
    interval: float,
    gain: float,
    integral: Array,
    external: Array,
) -> None:
    """One step of the observer.

    Args:
        mass_matrix: (n, n) M + B_theta, kg m^2.
        armature: (n,) B_theta, kg m^2.
        coriolis: (n, n) C, N m s.
        dq: (n,) rad/s.
        effort: (n,) Measured torque, N m.
        bias: (n,) h, N m.
        interval: Since the last step, s.
        gain: K, 1/s.
        integral: (n,) Momentum that the known torques have given, updated.
        external: (n,) Estimate of the external torque, updated, N m.
    """
    n = armature.size
    for i in range(n):
        momentum = -armature[i] * dq[i]
        # C^T dq - g = (C + C^T) dq - h.
        drive = effort[i] - bias[i] + external[i]
        for j in range(n):
            momentum += mass_matrix[i, j] * dq[j]
            drive += (coriolis[i, j] + coriolis[j, i]) * dq[j]
        integral[i] += interval * drive
        external[i] = gain * (momentum - integral[i])


@compiled(NUMBER, MATRIX, VECTOR, NUMBER)
def force_of_torque(jacobian: Array, torque: Array, regularisation: float) -> float:
    """Length of the force f at a tool that solves (J_v J_v^T + r 1) f = J_v tau, N.

    Args:
        jacobian: (6, n) Of the tool, linear rows first.
        torque: (n,) tau, N m.
        regularisation: r.
    """
    xx = yy = zz = regularisation
    xy = xz = yz = x = y = z = 0.0
    for i in range(torque.size):
        a, b, c = jacobian[0, i], jacobian[1, i], jacobian[2, i]
        xx += a * a
        yy += b * b
        zz += c * c
        xy += a * b
        xz += a * c
        yz += b * c
        x += a * torque[i]
        y += b * torque[i]
        z += c * torque[i]
    # The inverse of a symmetric matrix by its cofactors.
    cxx, cxy, cxz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    cyy, cyz, czz = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    determinant = xx * cxx + xy * cxy + xz * cxz
    fx, fy, fz = cxx * x + cxy * y + cxz * z, cxy * x + cyy * y + cyz * z, cxz * x + cyz * y + czz * z
    return math.sqrt(fx * fx + fy * fy + fz * fz) / determinant
