"""What measured joint torques leave of a motion unexplained: nothing of ringing and commands, all of a contact.

Torque sensors behind the gears of elastic joints measure what drives the links, tau, whether motors, springs or both
made it. With the inertia M of the links and h(q, dq) of gravity, centrifugal and Coriolis torques,

    M(q) ddq + h(q, dq) = tau + J^T f,

so that with M_0 of one posture the course M_0 q less the double integral of M_0 M(q)^-1 (tau - h) is that of a body on
which the contact's f alone acts: the memory of a momentum observer, in positions. Joints that ring and commands that
step are in tau. What changes slowly (gravity that is compensated or not, a payload, an offset) is left as a slow
acceleration. A component is divided by its diagonal element of M_0, so that it is in rad.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline

from impact_aware.arrays import Array
from impact_aware.robot import RobotModel


def driven_motion(robot: RobotModel, times: Array, positions: Array, efforts: Array) -> tuple[Array, Array]:
    """Accelerations, rad/s^2, and motion, rad, (k, n) that torques give the links; arguments of `explain_motion`."""
    model, data = robot.variant("M")
    velocities = CubicSpline(times, positions)(times, 1)
    rows = zip(positions, velocities, efforts, strict=True)
    driven = np.array([pin.aba(model, data, q, dq, effort).copy() for q, dq, effort in rows])
    return driven, CubicSpline(times, driven).antiderivative(2)(times)


def explain_motion(
    robot: RobotModel, times: Array, positions: Array, efforts: Array, effort_noise: Array
) -> tuple[Array, Array]:
    """Take what measured torques do to the links off their positions.

    Args:
        robot: The arm, of whose inertia that of the links counts.
        times: (k,) Increasing, s; four at least.
        positions: (k, n) rad.
        efforts: (k, n) Torques behind the gears, N m.
        effort_noise: (n,) Standard deviation of their white noise, N m.

    Returns:
        Components (k, n), rad, and the density (n,) of their white acceleration by the noise of the torques, rad^2/s^3.
    """
    _, moved = driven_motion(robot, times, positions, efforts)
    period = float(times[-1] - times[0]) / (len(times) - 1)
    scale = np.diag(robot.mass_matrix(positions[len(positions) // 2], "M"))
    values = (positions - positions[0] - moved) @ momentum_mixing(robot, positions).T
    return values, period * (effort_noise / scale) ** 2


def momentum_mixing(robot: RobotModel, positions: Array) -> Array:
    """From joint velocities to the components (n, n): M_0 by its diagonal, at the middle of postures (k, n), rad."""
    inertia = robot.mass_matrix(positions[len(positions) // 2], "M")
    return np.asarray(inertia / np.diag(inertia)[:, None])
