"""Contact problems of a serial arm at many postures at once, compiled.

Pinocchio answers one posture per call, and a call from Python costs more than its algebra. Here the composite rigid
body algorithm runs in base-frame coordinates: every joint's unit motion is a twist (w, v) at the base's origin, and the
links beyond it have a mass, a first moment and an inertia about that origin, which only need to be added up.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import pinocchio as pin
from numba import types
from numba.extending import register_jitable

from impact_aware.arrays import Array
from impact_aware.compiled import NOTHING, compiled
from impact_aware.contact.geometry import Contact
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

# Rows next to each other in memory, which compiled loops run through twice as fast as through any layout.
_VECTOR, _MATRIX = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")

_Triple: TypeAlias = tuple[float, float, float]
_Triples: TypeAlias = tuple[_Triple, _Triple, _Triple]

# Columns of a row of constants per joint: placement in its parent, axis, whether it turns, its link, its motor.
_ROTATION, _TRANSLATION, _AXIS, _REVOLUTE, _MASS, _LEVER, _INERTIA, _MOTOR = 0, 9, 12, 15, 16, 17, 20, 29
_CONSTANTS = 30
# A row of kinematics per joint: twist at the base's origin, then of its link mass, first moment and inertia there.
_KINEMATICS = 19


class ContactProblems(NamedTuple):
    """The impact problems of N postures; contact axes are normal, tangent, tangent.

    Attributes:
        delassus: (N, 6) Upper triangle of the arm's part of the Delassus matrix, row by row, 1/kg.
        velocity: (N, 3) Of the arm's contact point in contact axes, m/s.
        point: (N, 3) Contact point, base frame, m.
        factor: (N, n n) Cholesky's lower factor L of the joint-space inertia, its diagonal inverted, row by row.
        half: (N, n 3) L^-1 J^T with the contact Jacobian J, row by row.
    """

    delassus: Array
    velocity: Array
    point: Array
    factor: Array
    half: Array


class BatchDynamics:
    """Computes `ContactProblems` for one arm and one contact."""

    def __init__(self, robot: RobotModel, contact: Contact, inertia: str) -> None:
        """Take the arm's constants out of its Pinocchio model.

        Raises:
            InvalidInputError: Not a serial chain of revolute and prismatic joints, or the contact point is given in the
                base frame, which belongs to one posture.
            UnknownNameError: Unknown frame or inertia.
        """
        if contact.point is not None:
            raise InvalidInputError("contact point", "a fixed base-frame point", "an offset in the contact frame")
        model, n = robot.model, robot.n
        if list(model.parents[1:]) != list(range(n)):
            raise InvalidInputError("robot", robot.name, "a serial chain for batched prediction")
        data = model.createData()
        pin.computeJointJacobians(model, data, pin.neutral(model))
        jacobian = np.array(data.J).reshape(6, n)
        self._constants = np.zeros((n, _CONSTANTS))
        self._constants[:, _MOTOR] = robot.motor_inertia_for(inertia)
        for joint, row in enumerate(self._constants, start=1):
            motion = data.oMi[joint].actInv(pin.Motion(jacobian[:, joint - 1]))
            revolute = bool(np.linalg.norm(motion.angular) > 0.5)
            if revolute and np.linalg.norm(motion.linear) > 1e-12:
                raise InvalidInputError("robot", f"joint {model.names[joint]}", "revolute or prismatic joints")
            placement, body = model.jointPlacements[joint], model.inertias[joint]
            row[_ROTATION:_AXIS] = *placement.rotation.T.ravel(), *placement.translation
            row[_AXIS:_MASS] = *(placement.rotation @ (motion.angular if revolute else motion.linear)), revolute
            row[_MASS:_MOTOR] = body.mass, *body.lever, *body.inertia.ravel()
        frame = model.frames[robot.frame_id(contact.frame)]
        # The contact's place: number of joints that move it, position on their last link, tip radius.
        self._place = np.array([frame.parentJoint, *frame.placement.act(contact.offset), contact.radius])
        self._axes = contact.axes.copy()

    def __call__(self, q: Array, dq: Array) -> ContactProblems:
        """Evaluate at `q` (N, n), rad or m, with `dq` (N, n), rad/s or m/s."""
        count, n = q.shape
        sizes = 6, 3, 3, n * n, 3 * n
        problems = ContactProblems(*(np.empty((count, size)) for size in sizes))
        _fill_problems(self._constants, self._place, self._axes, q, dq, *problems)
        return problems


def velocities_after(problems: ContactProblems, impulse: Array, dq: Array, out: Array) -> None:
    """Put dq + M^-1 J^T impulse into `out` (N, n), for impulses (N, 3) in contact axes and velocities dq (N, n)."""
    _fill_velocities(problems.factor, problems.half, impulse, dq, out)


@register_jitable
def _row(matrix: Array, i: int, k: int) -> _Triple:
    return matrix[i, k], matrix[i, k + 1], matrix[i, k + 2]


@register_jitable
def _cross(a: _Triple, b: _Triple) -> _Triple:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@register_jitable
def _dot(a: _Triple, b: _Triple) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@register_jitable
def _add(a: _Triple, b: _Triple, share: float) -> _Triple:
    """The vector a + share b."""
    return a[0] + share * b[0], a[1] + share * b[1], a[2] + share * b[2]


@register_jitable
def _times(matrix: _Triples, v: _Triple) -> _Triple:
    """A matrix, given by its columns, times a vector."""
    return _add(_add(_add((0.0, 0.0, 0.0), matrix[0], v[0]), matrix[1], v[1]), matrix[2], v[2])


@register_jitable
def _rotated(axis: _Triple, cos: float, sin: float, v: _Triple) -> _Triple:
    """A vector rotated about a unit axis, by Rodrigues' formula."""
    return _add(_add((cos * v[0], cos * v[1], cos * v[2]), axis, (1.0 - cos) * _dot(axis, v)), _cross(axis, v), sin)


@compiled(NOTHING, _MATRIX, _MATRIX, types.int64, _VECTOR, _MATRIX, _MATRIX)
def _move(constants: Array, q: Array, state: int, place: Array, moved: Array, point: Array) -> None:
    """Fill the rows of kinematics `moved` (n, 19) and the centre of the contact's tip (3,) of one state."""
    columns = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    position = 0.0, 0.0, 0.0
    centre = place[1], place[2], place[3]
    for i in range(q.shape[1]):
        position = _add(position, _times(columns, _row(constants, i, _TRANSLATION)), 1.0)
        axis = _times(columns, _row(constants, i, _AXIS))
        columns = (
            _times(columns, _row(constants, i, _ROTATION)),
            _times(columns, _row(constants, i, _ROTATION + 3)),
            _times(columns, _row(constants, i, _ROTATION + 6)),
        )
        turn, shift = axis, axis
        if constants[i, _REVOLUTE] > 0.0:
            cos, sin = math.cos(q[state, i]), math.sin(q[state, i])
            columns = (
                _rotated(axis, cos, sin, columns[0]),
                _rotated(axis, cos, sin, columns[1]),
                _rotated(axis, cos, sin, columns[2]),
            )
            shift = _cross(position, axis)
        else:
            position = _add(position, axis, q[state, i])
            turn = 0.0, 0.0, 0.0
        if i + 1 == int(place[0]):
            centre = _add(position, _times(columns, (place[1], place[2], place[3])), 1.0)
        mass = constants[i, _MASS]
        at = _add(position, _times(columns, _row(constants, i, _LEVER)), 1.0)
        square = mass * _dot(at, at)
        turned = (
            _times(columns, _row(constants, i, _INERTIA)),
            _times(columns, _row(constants, i, _INERTIA + 3)),
            _times(columns, _row(constants, i, _INERTIA + 6)),
        )
        moved[i, 6] = mass
        for r in range(3):
            moved[i, r], moved[i, 3 + r], moved[i, 7 + r] = turn[r], shift[r], mass * at[r]
            row = columns[0][r], columns[1][r], columns[2][r]
            inertia = _add(_times(turned, row), at, -mass * at[r])
            moved[i, 10 + 3 * r], moved[i, 11 + 3 * r], moved[i, 12 + 3 * r] = inertia
            moved[i, 10 + 4 * r] += square
    point[state, 0], point[state, 1], point[state, 2] = centre


@compiled(NOTHING, _MATRIX, _MATRIX, types.int64, _MATRIX)
def _factorise(constants: Array, moved: Array, state: int, factor: Array) -> None:
    """Put Cholesky's factor of the joint-space inertia into a row of `factor`; `moved` becomes composite bodies."""
    n = len(moved)
    for i in range(n - 1, -1, -1):
        if i + 1 < n:
            for k in range(6, _KINEMATICS):
                moved[i, k] += moved[i + 1, k]
        turn, shift, first_moment = _row(moved, i, 0), _row(moved, i, 3), _row(moved, i, 7)
        inertia = _row(moved, i, 10), _row(moved, i, 13), _row(moved, i, 16)
        # Momentum of the links beyond the joint when it alone moves at unit speed.
        linear = _add(_cross(turn, first_moment), shift, moved[i, 6])
        angular = _add(_times(inertia, turn), _cross(first_moment, shift), 1.0)
        for j in range(i + 1):
            factor[state, n * i + j] = _dot(_row(moved, j, 0), angular) + _dot(_row(moved, j, 3), linear)
        factor[state, n * i + i] += constants[i, _MOTOR]
    for i in range(n):
        for j in range(i + 1):
            total = factor[state, n * i + j]
            for k in range(j):
                total -= factor[state, n * i + k] * factor[state, n * j + k]
            factor[state, n * i + j] = 1.0 / math.sqrt(total) if i == j else total * factor[state, n * j + j]


@compiled(NOTHING, _MATRIX, _VECTOR, *[_MATRIX] * 8)
def _fill_problems(
    constants: Array, place: Array, axes: Array, q: Array, dq: Array,
    delassus: Array, velocity: Array, point: Array, factor: Array, half: Array,
) -> None:  # fmt: skip
    """Fill the arrays of `ContactProblems`."""
    n = q.shape[1]
    moved = np.empty((n, _KINEMATICS))
    for state in range(len(q)):
        _move(constants, q, state, place, moved, point)
        for r in range(3):
            point[state, r] -= place[4] * axes[0, r]
            velocity[state, r] = 0.0
        at = _row(point, state, 0)
        for i in range(n):
            direction = _add(_cross(_row(moved, i, 0), at), _row(moved, i, 3), 1.0)
            for a in range(3):
                along = _dot(_row(axes, a, 0), direction) if i < int(place[0]) else 0.0
                half[state, 3 * i + a] = along
                velocity[state, a] += along * dq[state, i]
        _factorise(constants, moved, state, factor)
        for i in range(n):
            for a in range(3):
                total = half[state, 3 * i + a]
                for k in range(i):
                    total -= factor[state, n * i + k] * half[state, 3 * k + a]
                half[state, 3 * i + a] = total * factor[state, n * i + i]
        entry = 0
        for a in range(3):
            for b in range(a, 3):
                total = 0.0
                for i in range(n):
                    total += half[state, 3 * i + a] * half[state, 3 * i + b]
                delassus[state, entry] = total
                entry += 1


@compiled(NOTHING, _MATRIX, _MATRIX, _MATRIX, _MATRIX, _MATRIX)
def _fill_velocities(factor: Array, half: Array, impulse: Array, dq: Array, out: Array) -> None:
    """Put dq + L^-T (L^-1 J^T) impulse into `out` (N, n), from the last joint to the first."""
    n = dq.shape[1]
    jump = np.empty(n)
    for state in range(len(dq)):
        for i in range(n - 1, -1, -1):
            total = _dot(_row(half, state, 3 * i), _row(impulse, state, 0))
            for k in range(i + 1, n):
                total -= factor[state, n * k + i] * jump[k]
            jump[i] = total * factor[state, n * i + i]
            out[state, i] = dq[state, i] + jump[i]
