"""The impact maps compiled, alone and behind the kinematics of a serial arm, at one state or at many."""

from __future__ import annotations

import math

import numpy as np

from impact_aware.arrays import Array
from impact_aware.compiled import CONSTANT_MATRIX as CONSTANT_ROWS
from impact_aware.compiled import CONSTANT_VECTOR as CONSTANT_ROW
from impact_aware.compiled import DENSE_MATRIX as ROWS
from impact_aware.compiled import DENSE_VECTOR as ROW
from impact_aware.compiled import (
    FOUR,
    INDEX,
    NOTHING,
    NUMBER,
    SMALL_INDICES,
    VECTOR,
    compiled,
    part,
)
from impact_aware.errors import NoSolutionError
from impact_aware.impact import coulomb, fixed_direction, slip
from impact_aware.impact.arm_kernels import (
    KINEMATICS,
    contact_problem,
    joint_jump,
    object_share,
    object_velocity,
)
from impact_aware.impact.contact_impulse import (
    MODES,
    ImpactMapFunction,
    LocalImpulse,
    ModeIndices,
    Rows,
    Triple,
    not_finite,
    not_semidefinite,
)
from impact_aware.impact.serial_arm import AXES, FRICTION, OBJECT, RESTITUTION

METHODS: dict[str, int] = {
    "coulomb": coulomb.RESTITUTION_LAWS.index("energetic"),
    "coulomb-poisson": coulomb.RESTITUTION_LAWS.index("poisson"),
    "coulomb-newton": coulomb.RESTITUTION_LAWS.index("newton"),
    "fixed-direction": 3,
    "frictionless": 4,
}
"""What the maps are known by here. Friction is ignored by `frictionless`, which has Newton's restitution."""

FAILED, NOT_FINITE = coulomb.FAILED, coulomb.FAILED - 1
"""Instead of a mode: the Delassus matrix is not positive semidefinite; the numbers at the contact overflow."""

_FIXED_DIRECTION, _FRICTIONLESS, _NEWTON = (
    METHODS["fixed-direction"],
    METHODS["frictionless"],
    METHODS["coulomb-newton"],
)

for _function in (
    *slip.TRANSLATED,
    *coulomb.TRANSLATED,
    *fixed_direction.TRANSLATED,
):
    part(inline=True)(_function)


@compiled(FOUR, INDEX, *[NUMBER] * 11, ROW)
def _solve(
    method: int, w_nn: float, w_n1: float, w_n2: float, w_11: float, w_12: float, w_22: float,
    v_n: float, v_1: float, v_2: float, friction: float, restitution: float, series: Array,
) -> tuple[float, float, float, float]:  # fmt: skip
    matrix, velocity = (w_nn, w_n1, w_n2, w_11, w_12, w_22), (v_n, v_1, v_2)
    if method == _FIXED_DIRECTION:
        p_n, p_1, p_2, mode = fixed_direction.solve(matrix, velocity, friction, restitution)
        return p_n, p_1, p_2, float(mode)
    law = method
    if method == _FRICTIONLESS:
        law, friction = _NEWTON, 0.0
    p_n, p_1, p_2, mode = coulomb.solve(matrix, velocity, friction, restitution, law, series)
    return p_n, p_1, p_2, float(mode)


@compiled(FOUR, INDEX, *[NUMBER] * 11)
def solve(
    method: int, w_nn: float, w_n1: float, w_n2: float, w_11: float, w_12: float, w_22: float,
    v_n: float, v_1: float, v_2: float, friction: float, restitution: float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Impulse (3) in contact axes, N s, and index of the mode or `FAILED`, of one contact.

    The Delassus matrix is given by its upper triangle, 1/kg, the relative velocity before in contact axes, m/s.
    """
    series = np.empty(slip.SERIES_LENGTH)
    return _solve(method, w_nn, w_n1, w_n2, w_11, w_12, w_22, v_n, v_1, v_2, friction, restitution, series)


@compiled(FOUR, INDEX, CONSTANT_ROWS, CONSTANT_ROW, VECTOR, VECTOR, ROW, ROWS, ROWS, ROWS, ROWS, ROWS, ROW)
def _solve_state(
    method: int, arm: Array, contact: Array, q: Array, dq: Array,
    series: Array, moved: Array, factor: Array, jacobian: Array, half: Array, problem: Array, point: Array,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Fill what `contact_problem` fills, and the whole problem (3, 4) with the object; return what `solve` returns."""
    w_00, w_01, w_02, w_11, w_12, w_22, v_0, v_1, v_2 = contact_problem(
        arm, contact, q, dq, moved, factor, jacobian, half, point
    )
    if contact[OBJECT] > 0.0:
        w_00, w_01 = w_00 + object_share(contact, point, 0, 0), w_01 + object_share(contact, point, 0, 1)
        w_02, w_11 = w_02 + object_share(contact, point, 0, 2), w_11 + object_share(contact, point, 1, 1)
        w_12, w_22 = w_12 + object_share(contact, point, 1, 2), w_22 + object_share(contact, point, 2, 2)
        v_0, v_1 = v_0 - object_velocity(contact, point, 0), v_1 - object_velocity(contact, point, 1)
        v_2 -= object_velocity(contact, point, 2)
    problem[0, 0], problem[0, 1], problem[0, 2], problem[0, 3] = w_00, w_01, w_02, v_0
    problem[1, 0], problem[1, 1], problem[1, 2], problem[1, 3] = w_01, w_11, w_12, v_1
    problem[2, 0], problem[2, 1], problem[2, 2], problem[2, 3] = w_02, w_12, w_22, v_2
    if not math.isfinite(w_00 + w_01 + w_02 + w_11 + w_12 + w_22 + v_0 + v_1 + v_2):
        return 0.0, 0.0, 0.0, float(NOT_FINITE)
    return _solve(
        method, w_00, w_01, w_02, w_11, w_12, w_22, v_0, v_1, v_2, contact[FRICTION], contact[RESTITUTION], series
    )


def scratch_length(n: int) -> int:
    """Numbers that `predict_one` needs to work in, for n joints."""
    return slip.SERIES_LENGTH + n * (KINEMATICS + n + 6)


@compiled(FOUR, INDEX, CONSTANT_ROWS, CONSTANT_ROW, VECTOR, VECTOR, ROW, ROW, ROWS, ROWS, ROWS, ROW)
def predict_one(
    method: int, arm: Array, contact: Array, q: Array, dq: Array, scratch: Array,
    after: Array, jacobian: Array, answers: Array, problem: Array, point: Array,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Predict at one state.

    Args:
        method: One of `METHODS`.
        arm: (n, CONSTANTS) Of `serial_arm`.
        contact: (ENTRIES,) Of `serial_arm`.
        q: (n,) rad or m.
        dq: (n,) rad/s or m/s.
        scratch: `scratch_length` numbers.
        after: (n,) Gets the velocities after.
        jacobian: (3, n) Gets that of `ContactSpace`, as do the next.
        answers: (4, n).
        problem: (3, 4).
        point: (3,).

    Returns:
        Impulse (3) in contact axes, N s, and index of the mode, `FAILED` or `NOT_FINITE`.
    """
    n = len(q)
    begin, middle, end = slip.SERIES_LENGTH, slip.SERIES_LENGTH + n * KINEMATICS, len(scratch)
    moved = scratch[begin:middle].reshape((n, KINEMATICS))
    factor = scratch[middle : middle + n * n].reshape((n, n))
    columns = scratch[end - 6 * n : end - 3 * n].reshape((n, 3))
    half = scratch[end - 3 * n :].reshape((n, 3))
    p_n, p_1, p_2, mode = _solve_state(
        method, arm, contact, q, dq, scratch[:begin], moved, factor, columns, half, problem, point
    )
    joint_jump(factor, half, 1.0, 0.0, 0.0, answers[0])
    joint_jump(factor, half, 0.0, 1.0, 0.0, answers[1])
    joint_jump(factor, half, 0.0, 0.0, 1.0, answers[2])
    for i in range(n):
        jacobian[0, i], jacobian[1, i], jacobian[2, i] = columns[i, 0], columns[i, 1], columns[i, 2]
        answers[3, i] = dq[i]
        after[i] = dq[i] + (answers[0, i] * p_n + answers[1, i] * p_1 + answers[2, i] * p_2)
    return p_n, p_1, p_2, mode


@compiled(
    NOTHING, INDEX, CONSTANT_ROWS, CONSTANT_ROW, *[CONSTANT_ROWS] * 2, *[ROWS] * 2, SMALL_INDICES, ROW, ROWS, nogil=True
)  # fmt: skip
def predict_rows(
    method: int, arm: Array, contact: Array, q: Array, dq: Array,
    after: Array, impulse: Array, mode: ModeIndices, mass: Array, velocity: Array,
) -> None:  # fmt: skip
    """Predict at many states, q and dq (N, n), without holding the interpreter; fills the arrays of `BatchPrediction`.

    `mode` may get `FAILED` or `NOT_FINITE`.
    """
    n = q.shape[1]
    series, moved, factor = np.empty(slip.SERIES_LENGTH), np.empty((n, KINEMATICS)), np.empty((n, n))
    jacobian, half, problem, point, jump = (
        np.empty((n, 3)),
        np.empty((n, 3)),
        np.empty((3, 4)),
        np.empty(3),
        np.empty(n),
    )
    for state in range(len(q)):
        p_n, p_1, p_2, index = _solve_state(
            method, arm, contact, q[state], dq[state], series, moved, factor, jacobian, half, problem, point
        )
        mode[state] = int(index)
        joint_jump(factor, half, p_n, p_1, p_2, jump)
        inverse = 0.0
        for i in range(n):
            inverse += half[i, 0] * half[i, 0]
            after[state, i] = dq[state, i] + jump[i]
        mass[state] = 1.0 / inverse
        for r in range(3):
            normal, first, second = contact[AXES + r], contact[AXES + 3 + r], contact[AXES + 6 + r]
            impulse[state, r] = p_n * normal + p_1 * first + p_2 * second
            velocity[state, r] = problem[0, 3] * normal + problem[1, 3] * first + problem[2, 3] * second


def contact_map(method: str) -> ImpactMapFunction:
    """The map of one of `METHODS`, for a contact problem that is given."""
    index = METHODS[method]

    def impulse(delassus: Rows, velocity: Triple, friction: float, restitution: float) -> LocalImpulse:
        (w_nn, w_n1, w_n2), (_, w_11, w_12), (_, _, w_22) = delassus
        v_n, v_1, v_2 = velocity
        p_n, p_1, p_2, mode = solve(
            index, w_nn, w_n1, w_n2, w_11, w_12, w_22, v_n, v_1, v_2, friction, restitution
        )  # fmt: skip
        if mode < 0.0:
            raise not_semidefinite((delassus, velocity, friction, restitution, method))
        return LocalImpulse(p_n, p_1, p_2, MODES[int(mode)])

    return impulse


def no_solution(mode: int, problem: object) -> NoSolutionError:
    """Why there is no impulse, for what is returned instead of a mode."""
    return not_finite(problem) if mode == NOT_FINITE else not_semidefinite(problem)
