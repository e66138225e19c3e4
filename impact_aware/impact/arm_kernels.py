"""Contact problem of a serial arm at one posture, compiled.

Pinocchio's own sweep costs less than calling it from Python. Here the composite rigid body algorithm runs in base-frame
coordinates: every joint's unit motion is a twist (w, v) at the base's origin, and the links beyond it have a mass, a
first moment and an inertia about that origin, which only need to be added up.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from impact_aware.arrays import Array
from impact_aware.compiled import CONSTANT_MATRIX as CONSTANT_ROWS
from impact_aware.compiled import CONSTANT_VECTOR as CONSTANT_ROW
from impact_aware.compiled import DENSE_MATRIX as ROWS
from impact_aware.compiled import DENSE_VECTOR as ROW
from impact_aware.compiled import (
    NINE,
    NOTHING,
    NUMBER,
    VECTOR,
    compiled,
    part,
)
from impact_aware.impact.serial_arm import (
    AXES,
    AXIS,
    CENTRE,
    GIVEN,
    INERTIA,
    INVERSE_INERTIA,
    INVERSE_MASS,
    JOINTS,
    LEVER,
    MASS,
    MOTOR,
    POINT,
    POSITION,
    RADIUS,
    REVOLUTE,
    ROTATION,
    TRANSLATION,
    TWIST,
)

_Triple: TypeAlias = tuple[float, float, float]
_Triples: TypeAlias = tuple[_Triple, _Triple, _Triple]

KINEMATICS = 16
"""Length of a row per joint: its twist at the base's origin, then its link's mass, first moment and inertia there."""

_part = part()


@_part
def _row(matrix: Array, i: int, k: int) -> _Triple:
    return matrix[i, k], matrix[i, k + 1], matrix[i, k + 2]


@_part
def _cross(a: _Triple, b: _Triple) -> _Triple:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@_part
def _dot(a: _Triple, b: _Triple) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@_part
def _add(a: _Triple, b: _Triple, share: float) -> _Triple:
    """The vector a + share b."""
    return a[0] + share * b[0], a[1] + share * b[1], a[2] + share * b[2]


@_part
def _times(matrix: _Triples, v: _Triple) -> _Triple:
    """A matrix, given by its columns, times a vector."""
    return _add(_add(_add((0.0, 0.0, 0.0), matrix[0], v[0]), matrix[1], v[1]), matrix[2], v[2])


@_part
def _rotated(axis: _Triple, cos: float, sin: float, v: _Triple) -> _Triple:
    """A vector rotated about a unit axis, by Rodrigues' formula."""
    return _add(_add((cos * v[0], cos * v[1], cos * v[2]), axis, (1.0 - cos) * _dot(axis, v)), _cross(axis, v), sin)


@compiled(NOTHING, CONSTANT_ROWS, CONSTANT_ROW, VECTOR, ROWS, ROW)
def _move(constants: Array, contact: Array, q: Array, moved: Array, point: Array) -> None:
    """Fill the rows of kinematics `moved` (n, KINEMATICS) and the contact's point (3,) at a posture."""
    columns = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    position = 0.0, 0.0, 0.0
    centre = contact[CENTRE], contact[CENTRE + 1], contact[CENTRE + 2]
    for i in range(len(q)):
        position = _add(position, _times(columns, _row(constants, i, TRANSLATION)), 1.0)
        axis = _times(columns, _row(constants, i, AXIS))
        columns = (
            _times(columns, _row(constants, i, ROTATION)),
            _times(columns, _row(constants, i, ROTATION + 3)),
            _times(columns, _row(constants, i, ROTATION + 6)),
        )
        turn, shift = axis, axis
        if constants[i, REVOLUTE] > 0.0:
            cos, sin = math.cos(q[i]), math.sin(q[i])
            first, second = _rotated(axis, cos, sin, columns[0]), _rotated(axis, cos, sin, columns[1])
            columns = first, second, _cross(first, second)
            shift = _cross(position, axis)
        else:
            position = _add(position, axis, q[i])
            turn = 0.0, 0.0, 0.0
        if i + 1 == int(contact[JOINTS]):
            centre = _add(position, _times(columns, centre), 1.0)
        mass = constants[i, MASS]
        at = _add(position, _times(columns, _row(constants, i, LEVER)), 1.0)
        square = mass * _dot(at, at)
        first = _times(columns, _row(constants, i, INERTIA))
        second = _times(columns, _row(constants, i, INERTIA + 3))
        third = _times(columns, _row(constants, i, INERTIA + 6))
        moved[i, 6] = mass
        for r in range(3):
            moved[i, r], moved[i, 3 + r], moved[i, 7 + r] = turn[r], shift[r], mass * at[r]
        # The symmetric inertia's entries 00, 01, 02, 11, 12, 22 are rows of the turned columns times columns.
        x = columns[0][0], columns[1][0], columns[2][0]
        y = columns[0][1], columns[1][1], columns[2][1]
        z = columns[0][2], columns[1][2], columns[2][2]
        in_x, in_y = (first[0], second[0], third[0]), (first[1], second[1], third[1])
        moved[i, 10] = _dot(in_x, x) + square - mass * at[0] * at[0]
        moved[i, 11] = _dot(in_x, y) - mass * at[0] * at[1]
        moved[i, 12] = _dot(in_x, z) - mass * at[0] * at[2]
        moved[i, 13] = _dot(in_y, y) + square - mass * at[1] * at[1]
        moved[i, 14] = _dot(in_y, z) - mass * at[1] * at[2]
        moved[i, 15] = _dot((first[2], second[2], third[2]), z) + square - mass * at[2] * at[2]
    for r in range(3):
        point[r] = contact[POINT + r] if contact[GIVEN] > 0.0 else centre[r] - contact[RADIUS] * contact[AXES + r]


@compiled(NOTHING, CONSTANT_ROWS, ROWS, ROWS)
def _factorise(constants: Array, moved: Array, factor: Array) -> None:
    """Put Cholesky's factor of the joint-space inertia into `factor` (n, n), its diagonal inverted.

    The bodies in `moved` become composite ones.
    """
    n = len(moved)
    for i in range(n - 1, -1, -1):
        if i + 1 < n:
            for k in range(6, KINEMATICS):
                moved[i, k] += moved[i + 1, k]
        turn, shift, first_moment = _row(moved, i, 0), _row(moved, i, 3), _row(moved, i, 7)
        middle = moved[i, 11], moved[i, 13], moved[i, 14]
        last = moved[i, 12], moved[i, 14], moved[i, 15]
        # Momentum of the links beyond the joint when it alone moves at unit speed.
        linear = _add(_cross(turn, first_moment), shift, moved[i, 6])
        angular = _add(_times((_row(moved, i, 10), middle, last), turn), _cross(first_moment, shift), 1.0)
        for j in range(i + 1):
            factor[i, j] = _dot(_row(moved, j, 0), angular) + _dot(_row(moved, j, 3), linear)
        factor[i, i] += constants[i, MOTOR]
    for i in range(n):
        for j in range(i + 1):
            total = factor[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = 1.0 / math.sqrt(total) if i == j else total * factor[j, j]


@compiled(NINE, CONSTANT_ROWS, CONSTANT_ROW, VECTOR, VECTOR, ROWS, ROWS, ROWS, ROWS, ROW)
def contact_problem(
    constants: Array, contact: Array, q: Array, dq: Array,
    moved: Array, factor: Array, jacobian: Array, half: Array, point: Array,
) -> tuple[float, float, float, float, float, float, float, float, float]:  # fmt: skip
    """The arm's part of the contact problem at one state.

    Args:
        constants: (n, CONSTANTS) Of the arm.
        contact: (ENTRIES,) Of the contact.
        q: (n,) rad or m.
        dq: (n,) rad/s or m/s.
        moved: (n, KINEMATICS) Scratch.
        factor: (n, n) Gets Cholesky's lower factor L of the joint-space inertia, its diagonal inverted.
        jacobian: (n, 3) Gets J^T, joint velocities to the velocity of the contact point in contact axes.
        half: (n, 3) Gets L^-1 J^T.
        point: (3,) Gets the contact point, base frame, m.

    Returns:
        The Delassus matrix's entries nn, n1, n2, 11, 12, 22, 1/kg, and the velocity (3) of the contact point, m/s.
    """
    n = len(q)
    _move(constants, contact, q, moved, point)
    at = point[0], point[1], point[2]
    v_0, v_1, v_2 = 0.0, 0.0, 0.0
    normal = contact[AXES], contact[AXES + 1], contact[AXES + 2]
    first = contact[AXES + 3], contact[AXES + 4], contact[AXES + 5]
    second = contact[AXES + 6], contact[AXES + 7], contact[AXES + 8]
    for i in range(n):
        j_0, j_1, j_2 = 0.0, 0.0, 0.0
        if i < int(contact[JOINTS]):
            direction = _add(_cross(_row(moved, i, 0), at), _row(moved, i, 3), 1.0)
            j_0, j_1, j_2 = _dot(normal, direction), _dot(first, direction), _dot(second, direction)
        jacobian[i, 0], jacobian[i, 1], jacobian[i, 2] = j_0, j_1, j_2
        v_0, v_1, v_2 = v_0 + j_0 * dq[i], v_1 + j_1 * dq[i], v_2 + j_2 * dq[i]
    _factorise(constants, moved, factor)
    w_00, w_01, w_02, w_11, w_12, w_22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        h_0, h_1, h_2 = jacobian[i, 0], jacobian[i, 1], jacobian[i, 2]
        for k in range(i):
            share = factor[i, k]
            h_0, h_1, h_2 = h_0 - share * half[k, 0], h_1 - share * half[k, 1], h_2 - share * half[k, 2]
        share = factor[i, i]
        h_0, h_1, h_2 = share * h_0, share * h_1, share * h_2
        half[i, 0], half[i, 1], half[i, 2] = h_0, h_1, h_2
        w_00, w_01, w_02 = w_00 + h_0 * h_0, w_01 + h_0 * h_1, w_02 + h_0 * h_2
        w_11, w_12, w_22 = w_11 + h_1 * h_1, w_12 + h_1 * h_2, w_22 + h_2 * h_2
    return w_00, w_01, w_02, w_11, w_12, w_22, v_0, v_1, v_2


@compiled(NOTHING, ROWS, ROWS, NUMBER, NUMBER, NUMBER, ROW)
def joint_jump(factor: Array, half: Array, p_n: float, p_1: float, p_2: float, jump: Array) -> None:
    """Put L^-T (L^-1 J^T) p into `jump` (n,), rad/s or m/s, for an impulse p in contact axes, N s."""
    n = len(jump)
    for i in range(n - 1, -1, -1):
        total = half[i, 0] * p_n + half[i, 1] * p_1 + half[i, 2] * p_2
        for k in range(i + 1, n):
            total -= factor[k, i] * jump[k]
        jump[i] = total * factor[i, i]


@_part
def object_share(contact: Array, point: Array, a: int, b: int) -> float:
    """What a free object adds to the Delassus matrix's entry for two contact axes, 1/kg."""
    lever = point[0] - contact[POSITION], point[1] - contact[POSITION + 1], point[2] - contact[POSITION + 2]
    one, other = _axis(contact, a), _axis(contact, b)
    moment = _cross(lever, other)
    total = contact[INVERSE_MASS] * _dot(one, other)
    for r in range(3):
        row = (
            contact[INVERSE_INERTIA + 3 * r],
            contact[INVERSE_INERTIA + 3 * r + 1],
            contact[INVERSE_INERTIA + 3 * r + 2],
        )
        total += _cross(lever, one)[r] * _dot(row, moment)
    return total


@_part
def object_velocity(contact: Array, point: Array, a: int) -> float:
    """Velocity of a free object's contact point along a contact axis, m/s."""
    lever = point[0] - contact[POSITION], point[1] - contact[POSITION + 1], point[2] - contact[POSITION + 2]
    axis = _axis(contact, a)
    linear = contact[TWIST], contact[TWIST + 1], contact[TWIST + 2]
    angular = contact[TWIST + 3], contact[TWIST + 4], contact[TWIST + 5]
    return _dot(axis, linear) + _dot(_cross(lever, axis), angular)


@_part
def _axis(contact: Array, a: int) -> _Triple:
    return contact[AXES + 3 * a], contact[AXES + 3 * a + 1], contact[AXES + 3 * a + 2]
