"""A motion of a Panda whose torques are those of inverse dynamics: a contact that a drive takes back, and a brake."""

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline

from impact_aware.arrays import Array
from impact_aware.estimation.motion_parts import ramp
from impact_aware.robot import RobotModel

TIMES = 3.0 + 5e-3 * np.arange(120)
HIT, BRAKE = 3.3121, 3.4173
SLOW = np.array([0.4, -0.3, 0.2, 0.5, -0.6, 0.3, 0.7])
IMPULSE = np.array([0.5, -1.1, 0.7])


def jump_of(robot: RobotModel) -> Array:
    """Of the links by an impulse at the tip, 0.9 rad/s of the fastest joint."""
    jump = np.linalg.solve(robot.mass_matrix(robot.home, "M"), robot.frame_jacobian(robot.home)[:3].T @ IMPULSE)
    return np.asarray(0.9 * jump / np.abs(jump).max())


def pulse(since: Array, duration: float) -> Array:
    """Second derivative of `ramp`."""
    inside = (since > 0.0) & (since < duration)
    return np.asarray(np.where(inside, 0.5 * np.pi / duration * np.sin(np.pi * since / duration), 0.0))


def recorded(
    robot: RobotModel, *, contact: float = 1.0, duration: float = 0.006, taken_back: float = 0.8, brake: float = 25.0
) -> tuple[Array, Array]:
    """Positions and torques (k, n): a contact, of which a drive takes a share back in 12 ms, and a brake later."""
    rng = np.random.default_rng(4)
    jump = contact * jump_of(robot)
    since = (TIMES - HIT)[:, None]
    late, later = np.maximum(since - 0.003, 0.0), np.maximum(TIMES - BRAKE, 0.0)[:, None]
    moved = np.maximum(since, 0.0)
    q = robot.home + SLOW * (TIMES - TIMES[0])[:, None]
    q = q + jump * ramp(moved, duration) - taken_back * jump * ramp(late, 0.012)
    # Behind gears that give the torque rises in 15 ms.
    rises = np.minimum(later, 0.015) / 0.015
    moved_by = np.where(later < 0.015, later**3 / 0.09, 0.5 * later**2 - 0.0075 * later + 0.015**2 / 6.0)
    q = q - brake * np.sign(SLOW) * moved_by
    driven = -taken_back * jump * pulse(late, 0.012) - brake * np.sign(SLOW) * rises
    model, data = robot.variant("M")
    dq = CubicSpline(TIMES, q)(TIMES, 1)
    torques = np.array([pin.rnea(model, data, *row).copy() for row in zip(q, dq, driven, strict=True)])
    return q + 1e-5 * rng.standard_normal(q.shape), torques + 0.05 * rng.standard_normal(q.shape)
