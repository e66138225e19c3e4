"""Prediction at many states in one call: arrays of (q, dq) in, arrays of velocities after out.

The states are taken in blocks whose arrays stay in the processor's cache, so a million of them need little more memory
than their inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject
from impact_aware.errors import InvalidInputError
from impact_aware.impact.batch_dynamics import BatchDynamics, velocities_after
from impact_aware.impact.contact_impulse import MODES, Mode, ModeIndices
from impact_aware.impact.coulomb import compiled_coulomb
from impact_aware.impact.fixed_direction import compiled_fixed_direction
from impact_aware.impact.registry import DEFAULT_METHOD, impact_map
from impact_aware.robot import RobotModel

# (delassus, velocity, friction, restitution) -> impulses (N, 3) in contact axes, N s, and modes (N,). The Delassus
# matrices are given by their upper triangles (N, 6), row by row, 1/kg, the relative velocities (N, 3), m/s.
BatchMap: TypeAlias = Callable[[Array, Array, float, float], tuple[Array, ModeIndices]]

_BLOCK = 2048


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
    mode: ModeIndices
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
        obstacle: The free object it touches, at the same position every time; a fixed surface when None.
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
    after, mode, mass = np.empty((count, robot.n)), np.empty(count, dtype=np.int8), np.empty(count)
    impulse, velocity = np.empty((count, 3)), np.empty((count, 3))
    for start in range(0, count, _BLOCK):
        rows = slice(start, start + _BLOCK)
        problems = dynamics(positions[rows], velocities[rows])
        with np.errstate(divide="ignore"):
            mass[rows] = 1.0 / problems.delassus[:, 0]
        if obstacle is not None:
            _add_obstacle(problems.delassus, problems.velocity, contact, obstacle, problems.point)
        solved, mode[rows] = solve(problems.delassus, problems.velocity, contact.friction, contact.restitution)
        velocities_after(problems, solved, velocities[rows], after[rows])
        impulse[rows], velocity[rows] = solved @ contact.axes, problems.velocity @ contact.axes
    return BatchPrediction(after, impulse, mode, mass, velocity)


def batch_map(method: str) -> BatchMap:
    """The map of that name for arrays; one that is not compiled is asked once per contact.

    Raises:
        UnknownNameError: No such map.
    """
    one = impact_map(method)
    if method in _BATCH_MAPS:
        return _BATCH_MAPS[method]

    def loop(delassus: Array, velocity: Array, friction: float, restitution: float) -> tuple[Array, ModeIndices]:
        matrices = delassus[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3).tolist()
        answers = [one(*each, friction, restitution) for each in zip(matrices, velocity.tolist(), strict=True)]
        modes = np.array([MODES.index(answer.mode) for answer in answers], dtype=np.int8)
        return np.array([answer[:3] for answer in answers]).reshape(-1, 3), modes

    return loop


_BATCH_MAPS: dict[str, BatchMap] = {
    "coulomb": compiled_coulomb("energetic"),
    "coulomb-poisson": compiled_coulomb("poisson"),
    "coulomb-newton": compiled_coulomb("newton"),
    "fixed-direction": compiled_fixed_direction(),
    "frictionless": lambda delassus, velocity, _, restitution: compiled_coulomb("newton")(
        delassus, velocity, 0.0, restitution
    ),
}


def _add_obstacle(delassus: Array, velocity: Array, contact: Contact, obstacle: FreeObject, point: Array) -> None:
    """Add a free object's share to the contact problems, in place."""
    axes = contact.axes
    # Rows of the object's Jacobian: (axis, lever x axis).
    moments = np.cross((point - obstacle.position)[:, None, :], axes[None])
    shares = np.eye(3) / obstacle.mass + np.einsum(
        "kia,ab,kjb->kij", moments, obstacle.inverse_inertia[3:, 3:], moments
    )
    delassus += shares[:, *np.triu_indices(3)]
    velocity -= axes @ obstacle.twist[:3] + moments @ obstacle.twist[3:]


def _states(robot: RobotModel, values: ArrayLike, field: str) -> Array:
    array = np.ascontiguousarray(values, dtype=float)
    if array.ndim != 2 or array.shape[1] != robot.n:
        raise InvalidInputError(field, f"shape {array.shape}", f"(N, {robot.n})")
    if not np.isfinite(array).all():
        raise InvalidInputError(field, "values that are not finite", "finite values")
    return array
