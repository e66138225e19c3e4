"""Prediction at many states in one call: arrays of (q, dq) in, arrays of velocities after out.

The states are taken in blocks whose arrays stay in the processor's cache, so a million of them need little more memory
than their inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject
from impact_aware.errors import InvalidInputError
from impact_aware.impact.batch_dynamics import BatchDynamics
from impact_aware.impact.contact_impulse import MODES, Mode, Rows, Triple, stick_impulse
from impact_aware.impact.coulomb_batch import coulomb_impulses
from impact_aware.impact.fixed_direction import NO_SLIP
from impact_aware.impact.registry import DEFAULT_METHOD, impact_map
from impact_aware.robot import RobotModel

Modes = NDArray[np.int8]
BatchMap = Callable[[Array, Array, float, float], tuple[Array, Modes]]

# States whose dynamics are computed together, and states whose contacts are solved together, which take fewer calls.
_CHUNK, _CHUNKS_PER_BLOCK = 1024, 16
_SEPARATE = MODES.index("separate")


class BatchPrediction(NamedTuple):
    """States just after N impacts of one arm with n joints. Vectors of three are in the base frame.

    Attributes:
        velocity_after: (N, n) rad/s.
        impulse: (N, 3) Impulse on the robot, N s.
        mode: (N,) Indices of `MODES`.
        effective_mass: (N,) Of the robot alone along the normal, kg.
        contact_velocity_before: (N, 3) Robot relative to obstacle, m/s.
    """

    velocity_after: Array
    impulse: Array
    mode: Modes
    effective_mass: Array
    contact_velocity_before: Array

    def mode_names(self) -> list[Mode]:
        """The modes in words."""
        return [MODES[index] for index in self.mode]


def predict_batch(
    robot: RobotModel,
    q: ArrayLike,
    dq: ArrayLike,
    contact: Contact,
    *,
    obstacle: FreeObject | None = None,
    method: str = DEFAULT_METHOD,
    inertia: str = "M+B_theta",
) -> BatchPrediction:
    """Predict the states just after N impacts; agrees with `predict` at each.

    Args:
        robot: The arm.
        q: (N, n) Joint positions, rad.
        dq: (N, n) Joint velocities just before, rad/s.
        contact: Where and how it touches; its point moves with the frame.
        obstacle: The free object it touches, at the same place every time; a fixed surface when None.
        method: One of `IMPACT_MAPS`.
        inertia: One of `INERTIA_CHOICES`.

    Raises:
        InvalidInputError: An array of the wrong shape or not finite; a robot or contact `BatchDynamics` refuses.
        UnknownNameError: Unknown frame, method or inertia.
    """
    positions, velocities = _states(robot, q, "q"), _states(robot, dq, "dq")
    if len(positions) != len(velocities):
        raise InvalidInputError("dq", f"{len(velocities)} rows", f"{len(positions)}, as many as q")
    dynamics = BatchDynamics(robot, contact, inertia)
    solve = batch_map(method)
    count = len(positions)
    result = BatchPrediction(
        np.empty((count, robot.n)),
        np.empty((count, 3)),
        np.empty(count, dtype=np.int8),
        np.empty(count),
        np.empty((count, 3)),
    )
    block = _CHUNK * _CHUNKS_PER_BLOCK
    for start in range(0, count, block):
        rows = slice(start, min(start + block, count))
        part = BatchPrediction(
            result.velocity_after[rows],
            result.impulse[rows],
            result.mode[rows],
            result.effective_mass[rows],
            result.contact_velocity_before[rows],
        )
        _predict_block(dynamics, solve, contact, obstacle, positions[rows], velocities[rows], part)
    return result


def batch_map(method: str) -> BatchMap:
    """The map of that name for arrays: (delassus (3, 3, N), velocity (3, N), friction, restitution) -> impulses, modes.

    Raises:
        UnknownNameError: No such map.
    """
    one = impact_map(method)
    if method in _BATCH_MAPS:
        return _BATCH_MAPS[method]

    def loop(delassus: Array, velocity: Array, friction: float, restitution: float) -> tuple[Array, Modes]:
        answers = [
            one(delassus[:, :, k].tolist(), velocity[:, k].tolist(), friction, restitution)
            for k in range(velocity.shape[1])
        ]
        impulse = np.array([answer[:3] for answer in answers]).reshape(-1, 3).T
        return impulse, np.array([MODES.index(answer.mode) for answer in answers], dtype=np.int8)

    return loop


def fixed_direction_impulses(
    delassus: Array, velocity: Array, friction: float, restitution: float
) -> tuple[Array, Modes]:
    """`fixed_direction_impulse` over arrays: the same cases, as masks."""
    w, a_1, a_2 = delassus[0, 0], delassus[0, 1], delassus[0, 2]
    v_n, v_1, v_2 = velocity
    approaching = (v_n < 0.0) & (w > 0.0)
    with np.errstate(all="ignore"):
        slip = np.sqrt(v_1 * v_1 + v_2 * v_2)
        still = slip <= NO_SLIP
        u_1, u_2 = v_1 / slip, v_2 / slip
        if still.any():
            coupling = np.sqrt(a_1 * a_1 + a_2 * a_2)
            driven = still & (coupling > 1e-12 * w)
            u_1 = np.where(still, np.where(driven, a_1 / coupling, 0.0), u_1)
            u_2 = np.where(still, np.where(driven, a_2 / coupling, 0.0), u_2)
            slip = np.where(still, 0.0, slip)
        along = u_1 * a_1 + u_2 * a_2
        resistance = u_1 * (delassus[1, 1] * u_1 + 2.0 * delassus[1, 2] * u_2) + delassus[2, 2] * u_2 * u_2
        wanted = -(1.0 + restitution) * v_n
        braking = slip * along + wanted * resistance
        stopping = (slip * w + wanted * along) / braking
        stops = approaching & (braking > 0.0) & (stopping < friction)
        effective = np.where(stops, np.maximum(stopping, -friction), friction)
        normal = wanted / (w - effective * along)
        impulse = np.stack([normal, -effective * u_1 * normal, -effective * u_2 * normal])
        mode = np.where(approaching, MODES.index("slide"), _SEPARATE).astype(np.int8)
        which = np.flatnonzero(stops)
        rows, columns = cast(Rows, delassus[:, :, which]), cast(Triple, velocity[:, which])
        held = np.array(stick_impulse(rows, columns, restitution))
        inside = (held[0] > 0.0) & (held[1] ** 2 + held[2] ** 2 <= (friction * held[0]) ** 2)
    impulse[:, which[inside]] = held[:, inside]
    mode[which[inside]] = MODES.index("stick")
    if friction > 0.0:
        mode[approaching & (u_1 == 0.0) & (u_2 == 0.0)] = MODES.index("stick")
    impulse[:, ~approaching] = 0.0
    return impulse, mode


def frictionless_impulses(delassus: Array, velocity: Array, friction: float, restitution: float) -> tuple[Array, Modes]:
    """`frictionless_impulse` over arrays."""
    return coulomb_impulses(delassus, velocity, 0.0, restitution)


_BATCH_MAPS: dict[str, BatchMap] = {
    "coulomb": coulomb_impulses,
    "coulomb-poisson": partial(coulomb_impulses, law="poisson"),
    "coulomb-newton": partial(coulomb_impulses, law="newton"),
    "fixed-direction": fixed_direction_impulses,
    "frictionless": frictionless_impulses,
}


def _predict_block(
    dynamics: BatchDynamics,
    solve: BatchMap,
    contact: Contact,
    obstacle: FreeObject | None,
    q: Array,
    dq: Array,
    out: BatchPrediction,
) -> None:
    """Fill `out` for one block of states."""
    count, n = q.shape
    factors, halves = np.empty((n, n, count)), np.empty((n, 3, count))
    delassus, velocity = np.empty((3, 3, count)), np.empty((3, count))
    chunks = [slice(start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK)]
    for rows in chunks:
        kinematics = dynamics(np.ascontiguousarray(q[rows].T))
        before = np.ascontiguousarray(dq[rows].T)
        velocity[:, rows] = _weighted_sum(kinematics.jacobian, before)
        _factorise(kinematics.inertia, kinematics.jacobian)
        half = kinematics.jacobian
        for i in range(3):
            for j in range(i, 3):
                delassus[i, j, rows] = delassus[j, i, rows] = (half[:, i] * half[:, j]).sum(axis=0)
        out.effective_mass[rows] = 1.0 / delassus[0, 0, rows]
        if obstacle is not None:
            _add_obstacle(delassus[:, :, rows], velocity[:, rows], contact, obstacle, kinematics.point)
        factors[:, :, rows], halves[:, :, rows] = kinematics.inertia, half
    impulse, out.mode[:] = solve(delassus, velocity, contact.friction, contact.restitution)
    for rows in chunks:
        jump = (halves[:, :, rows] * impulse[:, rows]).sum(axis=1)
        _solve_transposed(factors[:, :, rows], jump)
        np.add(dq[rows], jump.T, out=out.velocity_after[rows])
    np.matmul(impulse.T, contact.axes, out=out.impulse)
    np.matmul(velocity.T, contact.axes, out=out.contact_velocity_before)


def _weighted_sum(jacobian: Array, velocity: Array) -> Array:
    """Contact velocities (3, N) of joint velocities (n, N)."""
    return (jacobian * velocity[:, None]).sum(axis=0)


def _factorise(matrix: Array, right: Array) -> None:
    """Cholesky's factor L of `matrix` (n, n, N), in place of its lower triangle, and L^-1 `right` (n, 3, N) in place.

    The factor's diagonal is left as its inverse.
    """
    n = len(matrix)
    for k in range(n):
        inverse = 1.0 / np.sqrt(matrix[k, k])
        matrix[k, k] = inverse
        right[k] *= inverse
        below = matrix[k + 1 :, k]
        below *= inverse
        for j in range(k + 1, n):
            matrix[j:, j] -= matrix[j:, k] * matrix[j, k]
        right[k + 1 :] -= below[:, None] * right[k]


def _solve_transposed(factor: Array, right: Array) -> None:
    """L^-T `right` (n, N) in place, for a factor of `_factorise`."""
    for k in reversed(range(len(factor))):
        right[k] *= factor[k, k]
        right[:k] -= factor[k, :k] * right[k]


def _add_obstacle(delassus: Array, velocity: Array, contact: Contact, obstacle: FreeObject, point: Array) -> None:
    """Add a free object's share to the contact problems, in place."""
    axes = contact.axes
    lever = point.T - obstacle.position
    # Rows of the object's Jacobian: (axis, lever x axis).
    moments = np.cross(lever[:, None, :], axes[None])
    inverse = np.linalg.inv(obstacle.inertia)
    shares = np.eye(3) / obstacle.mass + np.einsum("kia,ab,kjb->kij", moments, inverse, moments)
    delassus += np.moveaxis(shares, 0, -1)
    velocity -= (axes @ obstacle.twist[:3])[:, None] + (moments @ obstacle.twist[3:]).T


def _states(robot: RobotModel, values: ArrayLike, field: str) -> Array:
    array = np.asarray(values, dtype=float)
    if array.ndim != 2 or array.shape[1] != robot.n:
        raise InvalidInputError(field, f"shape {array.shape}", f"(N, {robot.n})")
    if not np.isfinite(array).all():
        raise InvalidInputError(field, "values that are not finite", "finite values")
    return array
