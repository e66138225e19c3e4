"""A joint posture for a wanted tool pose, within the joint limits: damped least squares with an active set."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.robot.model import RobotModel

_SMALLEST_DAMPING = 1e-6
_LARGEST_DAMPING = 1e3
_LARGEST_STEP = 0.5
_MOST_ITERATIONS = 200
_TOLERANCE = 1e-8
"""Largest accepted norm of the remaining twist, m and rad together."""


def solve_inverse_kinematics(
    robot: RobotModel,
    placement: pin.SE3,
    q_seed: ArrayLike | None = None,
    *,
    fixed: Mapping[int, float] | None = None,
    restarts: int = 10,
    seed: int = 0,
) -> Array:
    """Find q with `robot.placement(q) == placement` for the tool, near the seed when one solution is there.

    Each iteration minimises ||J dq - e||^2 + lambda^2 ||dq||^2 with e the twist that leads to the wanted pose; lambda
    falls when the error does and rises otherwise. Joints that would leave their range stay at its end and the others
    are solved again. When the seed leads nowhere, seeded random postures follow.

    Args:
        robot: The arm.
        placement: Wanted pose of the tool in the base frame.
        q_seed: (n,) Where to start, rad; `robot.home` when None.
        fixed: Joint index -> angle (rad) of joints that must not move, such as the redundant one.
        restarts: Random postures tried after the seed.
        seed: Seed of the random postures.

    Returns:
        (n,) Joint posture within `robot.limits`, rad.

    Raises:
        InvalidInputError: The pose is out of reach within the limits, or an input is malformed.
    """
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    start = robot.home if q_seed is None else robot.check_configuration(q_seed, "q_seed")
    if not (np.isfinite(placement.rotation).all() and np.isfinite(placement.translation).all()):
        raise InvalidInputError("placement", placement.homogeneous.tolist(), "a finite pose")
    free = np.ones(robot.n, dtype=bool)
    values = dict(fixed or {})
    for index, angle in values.items():
        if not (0 <= index < robot.n and lower[index] <= angle <= upper[index]):
            raise InvalidInputError(f"fixed[{index}]", angle, f"a joint 0..{robot.n - 1} within its limits")
        free[index] = False
    generator = np.random.default_rng(seed)
    # Random postures of joints without limits stay within one turn.
    span = (np.clip(lower, -np.pi, None), np.clip(upper, None, np.pi))
    best = np.inf
    for attempt in range(restarts + 1):
        q = np.clip(start, lower, upper) if attempt == 0 else generator.uniform(*span)
        for index, angle in values.items():
            q[index] = angle
        q, residual = _descend(robot, placement, q, free)
        if residual <= _TOLERANCE:
            return q
        best = min(best, residual)
    position = np.round(placement.translation, 4).tolist()
    raise InvalidInputError(
        "placement", f"tool at {position} m", f"a pose within reach and joint limits (best remaining twist {best:.2g})"
    )


def _descend(robot: RobotModel, placement: pin.SE3, q: Array, free: NDArray[np.bool_]) -> tuple[Array, float]:
    """Follow the twist from `q`; returns the best posture and the norm of its remaining twist."""
    model, data, frame_id = robot.model, robot.data, robot.tool_frame_id
    lower, upper = robot.limits.position_lower, robot.limits.position_upper

    def error_at(posture: Array) -> tuple[Array, float]:
        pin.framesForwardKinematics(model, data, posture)
        twist = pin.log6(data.oMf[frame_id].actInv(placement)).vector
        return twist, float(np.linalg.norm(twist))

    damping = 1e-2
    twist, residual = error_at(q)
    for _ in range(_MOST_ITERATIONS):
        if residual <= _TOLERANCE:
            break
        jacobian = pin.computeFrameJacobian(model, data, q, frame_id, pin.ReferenceFrame.LOCAL)
        candidate = _bounded_step(q, jacobian, twist, damping, free, lower, upper)
        new_twist, new_residual = error_at(candidate)
        if new_residual < residual:
            q, twist, residual = candidate, new_twist, new_residual
            damping = max(0.3 * damping, _SMALLEST_DAMPING)
        else:
            damping *= 4.0
            if damping > _LARGEST_DAMPING:
                break
    return q, residual


def _bounded_step(
    q: Array, jacobian: Array, twist: Array, damping: float, free: NDArray[np.bool_], lower: Array, upper: Array
) -> Array:
    """One damped step; joints it would push out of range are put at its end, and the rest is solved for again."""
    moving = free.copy()
    step = np.zeros_like(q)
    for _ in range(q.size):
        columns = jacobian[:, moving]
        rest = twist - jacobian[:, ~moving] @ step[~moving]
        normal = columns.T @ columns + damping**2 * np.eye(columns.shape[1])
        step[moving] = np.clip(np.linalg.solve(normal, columns.T @ rest), -_LARGEST_STEP, _LARGEST_STEP)
        wanted = q + step
        leaving = moving & ((wanted < lower) | (wanted > upper))
        if not leaving.any():
            break
        step[leaving] = np.clip(wanted[leaving], lower[leaving], upper[leaving]) - q[leaving]
        moving &= ~leaving
        if not moving.any():
            break
    return np.asarray(q + step)
