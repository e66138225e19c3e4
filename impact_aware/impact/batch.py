"""Prediction at many states in one call: arrays of (q, dq) in, arrays of velocities after out.

One compiled function goes from the joints to the joints, state by state, in as many threads as there are processors; a
million states need no memory but their inputs and outputs.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject
from impact_aware.errors import InvalidInputError
from impact_aware.impact.compiled_maps import METHODS, no_solution, predict_rows
from impact_aware.impact.contact_impulse import MODES, Mode, ModeIndices
from impact_aware.impact.predictor import ImpactPredictor
from impact_aware.impact.registry import DEFAULT_METHOD, impact_map
from impact_aware.impact.serial_arm import arm_constants, contact_entries
from impact_aware.robot import RobotModel

# States that a thread takes at once, a few hundredths of a second's work.
_BLOCK = 16384


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
        InvalidInputError: An array of the wrong shape or not finite, a robot that is no serial arm, or a fixed point.
        UnknownNameError: Unknown frame, method or inertia.
        NoSolutionError: No impulse at one of the states, for a reason of `predict`.
    """
    positions, velocities = _states(robot, q, "q"), _states(robot, dq, "dq")
    if len(positions) != len(velocities):
        raise InvalidInputError("dq", f"{len(velocities)} rows", f"{len(positions)}, as many as q")
    if contact.point is not None:
        raise InvalidInputError("contact point", "a fixed base-frame point", "an offset in the contact frame")
    impact_map(method)
    arm, entries = arm_constants(robot, inertia), contact_entries(robot, contact, obstacle)
    count = len(positions)
    mode, mass = np.empty(count, dtype=np.int8), np.empty(count)
    result = BatchPrediction(np.empty((count, robot.n)), np.empty((count, 3)), mode, mass, np.empty((count, 3)))
    if method not in METHODS:
        predictor = ImpactPredictor(robot, contact, obstacle=obstacle, method=method, inertia=inertia)
        for row in range(count):
            one = predictor(positions[row], velocities[row])
            result.velocity_after[row], result.impulse[row] = one.velocity_after, one.impulse
            result.contact_velocity_before[row] = one.contact_velocity_before
            mode[row], mass[row] = MODES.index(one.mode), one.effective_mass
        return result

    def work(rows: slice) -> None:
        predict_rows(
            METHODS[method], arm, entries, positions[rows], velocities[rows],
            result.velocity_after[rows], result.impulse[rows], mode[rows], mass[rows],
            result.contact_velocity_before[rows],
        )  # fmt: skip

    blocks = [slice(start, start + _BLOCK) for start in range(0, count, _BLOCK)]
    threads = min(len(blocks), len(os.sched_getaffinity(0)))
    if threads < 2:
        for block in blocks:
            work(block)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, blocks))
    failed = np.flatnonzero(mode < 0)
    if failed.size:
        row = int(failed[0])
        raise no_solution(int(mode[row]), (positions[row], velocities[row], contact, obstacle))
    return result


def _states(robot: RobotModel, values: ArrayLike, field: str) -> Array:
    array = np.ascontiguousarray(values, dtype=float)
    if array.ndim != 2 or array.shape[1] != robot.n:
        raise InvalidInputError(field, f"shape {array.shape}", f"(N, {robot.n})")
    if not np.isfinite(array).all():
        raise InvalidInputError(field, "values that are not finite", "finite values")
    return array
