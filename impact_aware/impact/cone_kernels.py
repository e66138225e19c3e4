"""Newton's method on the cone complementarity problem, and the way from yielding contacts to rigid ones, compiled."""

from __future__ import annotations

import math

import numpy as np

from impact_aware.arrays import Array
from impact_aware.compiled import (
    CONSTANT_MATRIX,
    CONSTANT_VECTOR,
    DENSE_MATRIX,
    DENSE_VECTOR,
    FLAG,
    INDEX,
    NUMBER,
    NUMBER_AND_INDEX,
    compiled,
    part,
)

# Residual at which an impulse is good enough, and at which a compliant problem is solved.
_POLISHED, _CONVERGED = 1e-13, 1e-10
# Compliances of the way to rigid contacts; of proximal steps after one that succeeded and one that failed.
_STIFFENING = tuple(10.0**-power for power in range(7))
_STIFFER, _SOFTER = 0.7, 2.0
_SOFTEST, _MOST_STEPS = 1e4, 300
_ITERATIONS, _HALVINGS = 40, 10
# A contact's own mobilities below this, in a problem whose mean mobility is 1, are none.
MOBILITY_TOLERANCE = 1e-9


@part()
def own_mobility(matrix: Array) -> Array:
    """Mobility (3 m,) of each contact along its normal, and its mean along the tangents."""
    own = np.empty(len(matrix))
    for k in range(0, len(matrix), 3):
        own[k] = max(matrix[k, k], MOBILITY_TOLERANCE)
        own[k + 1] = own[k + 2] = max(0.5 * (matrix[k + 1, k + 1] + matrix[k + 2, k + 2]), MOBILITY_TOLERANCE)
    return own


@part()
def _form(matrix: Array, free: Array, friction: Array, own: Array, impulse: Array, left: Array, slope: Array) -> float:
    """Put what an impulse lacks of Alart and Curnier's form into `left` (3 m,), and return its norm.

    With y = p - v / w, the normal impulse is max(y_n, 0) and the tangential one is y_t cut off at friction times that.
    `slope` (3 m, 3) gets the derivative of that by y, contact by contact.
    """
    total = 0.0
    for k in range(len(friction)):
        n = 3 * k
        for i in range(n, n + 3):
            velocity = free[i]
            for j in range(len(impulse)):
                velocity += matrix[i, j] * impulse[j]
            left[i] = impulse[i] - velocity / own[i]
            for j in range(3):
                slope[i, j] = 0.0
        pushes = left[n] > 0.0
        if pushes:
            slope[n, 0] = 1.0
        else:
            left[n] = 0.0
        y_1, y_2, reach = left[n + 1], left[n + 2], friction[k] * left[n]
        length, share = math.sqrt(y_1 * y_1 + y_2 * y_2), 1.0
        if length > reach:
            share, s_1, s_2 = reach / length, y_1 / length, y_2 / length
            slope[n + 1, 1], slope[n + 2, 2] = share * s_2 * s_2, share * s_1 * s_1
            slope[n + 1, 2] = slope[n + 2, 1] = -share * s_1 * s_2
            if pushes:
                slope[n + 1, 0], slope[n + 2, 0] = friction[k] * s_1, friction[k] * s_2
        else:
            slope[n + 1, 1] = slope[n + 2, 2] = 1.0
        left[n + 1], left[n + 2] = share * y_1, share * y_2
        for i in range(n, n + 3):
            left[i] -= impulse[i]
            total += left[i] * left[i]
    return math.sqrt(total)


@part()
def _newton_step(matrix: Array, own: Array, slope: Array, work: Array, step: Array) -> bool:
    """Solve (I - D (I - W / w)) x = step in place, D given by `slope`; False where that is singular."""
    count = len(step)
    for k in range(0, count, 3):
        for a in range(k, k + 3):
            d_0, d_1, d_2 = slope[a, 0] / own[k], slope[a, 1] / own[k + 1], slope[a, 2] / own[k + 2]
            for j in range(count):
                work[a, j] = d_0 * matrix[k, j] + d_1 * matrix[k + 1, j] + d_2 * matrix[k + 2, j]
            for b in range(3):
                work[a, k + b] -= slope[a, b]
            work[a, a] += 1.0
    # Gauss with the largest pivot of the column.
    for i in range(count):
        pivot = i
        for k in range(i + 1, count):
            if abs(work[k, i]) > abs(work[pivot, i]):
                pivot = k
        if not abs(work[pivot, i]) > 0.0:
            return False
        if pivot != i:
            for j in range(i, count):
                work[i, j], work[pivot, j] = work[pivot, j], work[i, j]
            step[i], step[pivot] = step[pivot], step[i]
        for k in range(i + 1, count):
            factor = work[k, i] / work[i, i]
            if factor != 0.0:
                for j in range(i + 1, count):
                    work[k, j] -= factor * work[i, j]
                step[k] -= factor * step[i]
    for i in range(count - 1, -1, -1):
        total = step[i]
        for j in range(i + 1, count):
            total -= work[i, j] * step[j]
        step[i] = total / work[i, i]
    return True


@compiled(NUMBER, CONSTANT_MATRIX, CONSTANT_VECTOR, CONSTANT_VECTOR, NUMBER, INDEX, DENSE_VECTOR, DENSE_MATRIX)
def _newton(
    matrix: Array, free: Array, friction: Array, tolerance: float, most: int, impulse: Array, slope: Array
) -> float:
    """Bring an impulse (3 m,) to Alart and Curnier's form by Newton's method, and return what it lacks still.

    Steps that don't help are halved. `slope` (3 m, 3) gets the derivative of the form's projection at the end.
    """
    own, count = own_mobility(matrix), len(free)
    left, moved, best, step = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    work = np.empty((count, count))
    size = _form(matrix, free, friction, own, impulse, left, slope)
    for _ in range(most):
        largest = 1.0
        for i in range(count):
            largest = max(largest, abs(impulse[i]))
            step[i] = left[i]
        if size <= tolerance * largest or not _newton_step(matrix, own, slope, work, step):
            break
        least, share = math.inf, 1.0
        for _ in range(_HALVINGS):
            for i in range(count):
                moved[i] = impulse[i] + share * step[i]
            reached = _form(matrix, free, friction, own, moved, left, slope)
            if reached < least:
                least = reached
                best[:] = moved
            if reached < size * (1.0 - 1e-4 * share):
                break
            share *= 0.5
        if not least < math.inf:
            break
        rounding = least >= size and least <= 1e3 * tolerance * largest
        impulse[:], size = best, least
        _form(matrix, free, friction, own, impulse, left, slope)
        if rounding:
            break
    return size


@compiled(NUMBER, CONSTANT_MATRIX, CONSTANT_VECTOR, CONSTANT_VECTOR, CONSTANT_VECTOR, DENSE_MATRIX)
def lacking(matrix: Array, free: Array, friction: Array, impulse: Array, slope: Array) -> float:
    """Residual of an impulse (3 m,), and into `slope` (3 m, 3) the derivative of the projection, contact by contact."""
    size = _form(matrix, free, friction, own_mobility(matrix), impulse, np.empty(len(free)), slope)
    return size / max(1.0, np.abs(impulse).max())


@part()
def _yielding(
    matrix: Array, free: Array, friction: Array, compliance: float, reference: Array, found: Array, slope: Array
) -> bool:
    """Bring a start to the impulse of contacts that yield by its difference from a reference; whether it solves."""
    softer, moved = matrix.copy(), free - compliance * reference
    for i in range(len(free)):
        softer[i, i] += compliance
    left = _newton(softer, moved, friction, 0.1 * _POLISHED, _ITERATIONS, found, slope)
    return left <= _CONVERGED * max(1.0, np.abs(found).max())


@compiled(NUMBER_AND_INDEX, CONSTANT_MATRIX, CONSTANT_VECTOR, CONSTANT_VECTOR, NUMBER, INDEX, DENSE_VECTOR)
def stiffen(
    matrix: Array, free: Array, friction: Array, compliance: float, most: int, impulse: Array
) -> tuple[float, int]:
    """Bring an impulse (3 m,) to the best one of at most `most` proximal steps; its residual, and the steps."""
    slope, now = np.empty((len(free), 3)), impulse.copy()
    least, steps = lacking(matrix, free, friction, impulse, slope), 0
    while steps < most and least > _POLISHED and compliance < _SOFTEST:
        steps += 1
        found = now.copy()
        if not _yielding(matrix, free, friction, compliance, now, found, slope):
            compliance *= _SOFTER
            continue
        now, compliance = found, max(_STIFFENING[-1], _STIFFER * compliance)
        residual = lacking(matrix, free, friction, now, slope)
        if residual < least:
            least = residual
            impulse[:] = now
    return least, steps


@compiled(NUMBER_AND_INDEX, CONSTANT_MATRIX, CONSTANT_VECTOR, CONSTANT_VECTOR, DENSE_VECTOR)
def follow(matrix: Array, free: Array, friction: Array, impulse: Array) -> tuple[float, int]:
    """Impulse (3 m,) that contacts which yield alike reach as they become rigid; its residual, and problems solved."""
    slope, none, softness, steps = np.empty((len(free), 3)), np.zeros(len(free)), _STIFFENING[0], 0
    impulse[:] = 0.0
    for compliance in _STIFFENING:
        steps += 1
        found = impulse.copy()
        if not _yielding(matrix, free, friction, compliance, none, found, slope):
            break
        impulse[:] = found
        softness = compliance
    residual, more = stiffen(matrix, free, friction, softness, _MOST_STEPS, impulse)
    return residual, steps + more


@compiled(NUMBER, CONSTANT_MATRIX, CONSTANT_VECTOR, CONSTANT_VECTOR, DENSE_VECTOR, DENSE_MATRIX, DENSE_VECTOR)
def scale(delassus: Array, velocity: Array, friction: Array, unit: Array, matrix: Array, free: Array) -> float:
    """Fill in a problem with velocities of order one and contacts whose own mobilities have the mean 1.

    `unit` (3 m,) gets what its impulses are multiplied by, N s. The floor of mobilities is returned; 0 and nothing
    filled in where nothing moves or can be moved.
    """
    count, total = len(velocity), 0.0
    for k in range(0, count, 3):
        mobility = (delassus[k, k] + delassus[k + 1, k + 1] + delassus[k + 2, k + 2]) / 3.0
        unit[k] = unit[k + 1] = unit[k + 2] = mobility
        total += mobility
    floor = MOBILITY_TOLERANCE * total * 3.0 / count
    if not floor > 0.0 or not np.abs(velocity).max() > 0.0:
        return 0.0
    largest = 0.0
    for i in range(count):
        unit[i] = 1.0 / math.sqrt(max(unit[i], floor))
    for i in range(count):
        # The tangents of a contact without friction get no impulse, whatever they are coupled to.
        slippery = i % 3 > 0 and friction[i // 3] == 0.0
        for j in range(count):
            both = 0.5 * (delassus[i, j] + delassus[j, i]) * (unit[i] * unit[j])
            matrix[i, j] = 0.0 if slippery or (j % 3 > 0 and friction[j // 3] == 0.0) else both
        free[i] = velocity[i] * unit[i]
        if slippery:
            matrix[i, i], free[i] = 1.0, 0.0
        largest = max(largest, abs(free[i]))
    size = largest if largest > 0.0 else 1.0
    for i in range(count):
        free[i] /= size
        unit[i] *= size
    return floor


@compiled(NUMBER, CONSTANT_MATRIX, CONSTANT_VECTOR, CONSTANT_VECTOR, DENSE_VECTOR, FLAG)
def solve(delassus: Array, velocity: Array, friction: Array, impulse: Array, near: bool) -> float:
    """Impulse (3 m,), N s, of rigid contacts, and the residual; `near` an impulse that is given, where it is known.

    Arguments are those of `solve_cone_complementarity`. Whether it is the only one is not checked.
    """
    count = len(velocity)
    unit, matrix, free = np.empty(count), np.empty((count, count)), np.empty(count)
    if not scale(delassus, velocity, friction, unit, matrix, free) > 0.0:
        impulse[:] = 0.0
        return 0.0
    residual = math.inf
    if near:
        impulse /= unit
        residual, _ = stiffen(matrix, free, friction, _STIFFENING[-1], 5, impulse)
    if not residual < _CONVERGED:
        residual, _ = follow(matrix, free, friction, impulse)
    impulse *= unit
    return residual
