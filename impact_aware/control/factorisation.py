"""The two factors that a dual active-set method keeps, and what is read from them (Goldfarb and Idnani 1983, 3).

With J J' = H^-1 and the normals N of the active bounds, J'N = (R; 0), R triangular: J1 belongs to the active bounds, J2
to the directions along all of them. Rotations change both when a bound becomes active or is let go.

The functions take J' as `inverse`, R as `triangle`, J'n of one bound as `projected`, the multipliers and rows of the
active bounds, their number as `count`, and the number of variables as `size`. They change the arrays in place.
"""

from __future__ import annotations

import math

from impact_aware.arrays import Array
from impact_aware.compiled import (
    DENSE_MATRIX,
    DENSE_VECTOR,
    FLAG,
    INDEX,
    INDICES,
    MATRIX,
    NOTHING,
    NUMBER,
    NUMBER_AND_INDEX,
    VECTOR,
    compiled,
)

DEPENDENT = 1e-12
"""Share of a bound's normal that the active bounds may leave before it counts as a combination of theirs."""

ROUNDING = 1e-12
"""Share of the largest change of a multiplier below which another one's is rounding."""

SMALLEST_PIVOT = 1e-15
"""Share of the largest entry of H below which a pivot of its factorisation is rounding."""


@compiled(FLAG, MATRIX, NUMBER, NUMBER, INDEX, DENSE_MATRIX)
def factorise(hessian: Array, position_penalty: float, velocity_penalty: float, soft: int, inverse: Array) -> bool:
    """Write L^-1 for H = L L' and the soft bounds' penalties, and say whether H is finite.

    Args:
        hessian: (n, n) H.
        position_penalty: rho of position bounds.
        velocity_penalty: rho of velocity bounds.
        soft: How many kinds of bounds are soft: 0, 1 for positions, 2 for velocities too.
        inverse: (3 n, 3 n) J' of which the first (1 + soft) n rows and columns are written.
    """
    n = hessian.shape[0]
    size = (1 + soft) * n
    largest = 0.0
    for i in range(n):
        largest = max(largest, hessian[i, i])
    for i in range(size):
        for j in range(size):
            inverse[i, j] = 0.0
    # The factor L is made in the upper triangle, as L', and its inverse in the lower one.
    for i in range(n):
        for j in range(i + 1):
            total = hessian[i, j]
            for k in range(j):
                total -= inverse[k, i] * inverse[k, j]
            if j < i:
                inverse[j, i] = total / inverse[j, j]
            elif math.isfinite(total):
                inverse[i, i] = math.sqrt(max(total, SMALLEST_PIVOT * largest))
            else:
                return False
    for i in range(n):
        for j in range(i):
            total = 0.0
            for k in range(j, i):
                total -= inverse[k, i] * (inverse[k, j] if k > j else 1.0 / inverse[j, j])
            inverse[i, j] = total / inverse[i, i]
    for i in range(n):
        inverse[i, i] = 1.0 / inverse[i, i]
        for j in range(i + 1, n):
            inverse[i, j] = 0.0
    for i in range(n, size):
        inverse[i, i] = 1.0 / math.sqrt(position_penalty if i < 2 * n else velocity_penalty)
    return True


@compiled(NOTHING, DENSE_MATRIX, DENSE_MATRIX, DENSE_VECTOR, INDEX, INDEX)
def add_row(inverse: Array, triangle: Array, projected: Array, count: int, size: int) -> None:
    """Make a bound active: rotate J2 such that J'n, a new column of R, has one entry more than `count`."""
    for j in range(size - 1, count, -1):
        if projected[j] != 0.0:
            length = math.hypot(projected[j - 1], projected[j])
            cosine, sine = projected[j - 1] / length, projected[j] / length
            projected[j - 1] = length
            for k in range(size):
                above, below = inverse[j - 1, k], inverse[j, k]
                inverse[j - 1, k] = cosine * above + sine * below
                inverse[j, k] = cosine * below - sine * above
    for j in range(count + 1):
        triangle[j, count] = projected[j]


@compiled(NOTHING, DENSE_MATRIX, DENSE_MATRIX, DENSE_VECTOR, INDICES, INDEX, INDEX, INDEX)
def remove_row(
    inverse: Array, triangle: Array, multipliers: Array, active: Array, position: int, count: int, size: int
) -> None:
    """Let the active bound at a position go and make R triangular again."""
    for j in range(position, count - 1):
        multipliers[j] = multipliers[j + 1]
        active[j] = active[j + 1]
        for k in range(j + 2):
            triangle[k, j] = triangle[k, j + 1]
        length = math.hypot(triangle[j, j], triangle[j + 1, j])
        cosine, sine = triangle[j, j] / length, triangle[j + 1, j] / length
        triangle[j, j] = length
        for k in range(j + 2, count):
            above, below = triangle[j, k], triangle[j + 1, k]
            triangle[j, k] = cosine * above + sine * below
            triangle[j + 1, k] = cosine * below - sine * above
        for k in range(size):
            above, below = inverse[j, k], inverse[j + 1, k]
            inverse[j, k] = cosine * above + sine * below
            inverse[j + 1, k] = cosine * below - sine * above
    active[count - 1] = 0


@compiled(FLAG, DENSE_VECTOR, INDEX, INDEX)
def depends(projected: Array, count: int, size: int) -> bool:
    """Whether a normal n, given as J'n, is a combination of the active ones."""
    along = across = 0.0
    for j in range(size):
        if j < count:
            along += projected[j] * projected[j]
        else:
            across += projected[j] * projected[j]
    return across <= DEPENDENT * DEPENDENT * (along + across)


@compiled(NUMBER_AND_INDEX, DENSE_MATRIX, DENSE_VECTOR, DENSE_VECTOR, DENSE_VECTOR, INDEX)
def first_to_vanish(
    triangle: Array, projected: Array, multipliers: Array, change: Array, count: int
) -> tuple[float, int]:
    """Write r = R^-1 d1, and find the step after which a multiplier becomes zero; infinity where none does."""
    largest = 0.0
    for j in range(count - 1, -1, -1):
        total = projected[j]
        for k in range(j + 1, count):
            total -= triangle[j, k] * change[k]
        change[j] = total / triangle[j, j]
        largest = max(largest, abs(change[j]))
    step, blocking = math.inf, -1
    for j in range(count):
        if change[j] > ROUNDING * largest and multipliers[j] < step * change[j]:
            step, blocking = max(multipliers[j], 0.0) / change[j], j
    return step, blocking


@compiled(INDEX, VECTOR, MATRIX, DENSE_MATRIX, DENSE_MATRIX, DENSE_VECTOR, DENSE_VECTOR, INDICES, INDEX, INDEX)
def settle(
    gradient: Array,
    limits: Array,
    inverse: Array,
    triangle: Array,
    x: Array,
    multipliers: Array,
    active: Array,
    count: int,
    size: int,
) -> int:
    """Write the minimum on the active bounds, x = J1 y - J2 J2'g with R'y = b, and multipliers u, R u = y + J1'g.

    Returns:
        Position of the most negative multiplier, or -1.
    """
    n = gradient.size
    for j in range(size):
        x[j] = 0.0
    for j in range(size):
        slope = 0.0
        for k in range(n):
            slope += inverse[j, k] * gradient[k]
        if j < count:
            number = abs(active[j]) - 1
            kind, joint = number // n, number % n
            along = limits[2 * kind, joint] if active[j] > 0 else -limits[2 * kind + 1, joint]
            # triangle's column j below the diagonal is free: y is kept in the multipliers meanwhile.
            for k in range(j):
                along -= triangle[k, j] * multipliers[k]
            along /= triangle[j, j]
            multipliers[j] = along
        else:
            along = -slope
        for k in range(size):
            x[k] += along * inverse[j, k]
    for j in range(count):
        for k in range(n):
            multipliers[j] += inverse[j, k] * gradient[k]
    worst, least = -1, 0.0
    for j in range(count - 1, -1, -1):
        for k in range(j + 1, count):
            multipliers[j] -= triangle[j, k] * multipliers[k]
        multipliers[j] /= triangle[j, j]
        if multipliers[j] < least:
            worst, least = j, multipliers[j]
    return worst
