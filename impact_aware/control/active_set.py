"""A dual active-set method for the controller's quadratic program, compiled (Goldfarb and Idnani 1983).

The program of n joint accelerations x is

    min 1/2 x'Hx + g'x,   position and velocity bounds on x,   torque bounds on M x,

H positive definite. From the minimum on the active bounds, which are none at first, the most violated bound n'x >= b is
brought in. With the factors J, R of `factorisation` and d = J'n, the step z = J2 d2 moves x along the active bounds
towards n'x = b, while their multipliers change by -r = -R^-1 d1. The step ends where n'x = b, and the bound becomes
active, or where a multiplier becomes zero, and its bound is let go. Multipliers are never negative, so every x is the
minimum subject to some of the bounds, and the dual cost grows with every step: no set of active bounds comes twice.
Where z = 0 and no multiplier falls, the bounds exclude each other.

A soft bound is n'x + s >= b at the cost rho/2 s^2: s is a further variable with its own entry of H, and the method is
the same. Bounds become soft only when they exclude each other: those on positions first, then those on velocities too.
Torque bounds never do, and as M is invertible, they always leave a solution.

A program is begun with the bounds that were active in the one before. Those with negative multipliers are let go first,
so the method is where it would have come to by itself. The minimum of a strictly convex program is one: where it was
begun changes the number of steps only.
"""

from __future__ import annotations

import math

from impact_aware.arrays import Array
from impact_aware.compiled import (
    DENSE_MATRIX,
    DENSE_VECTOR,
    FLAG,
    INDEX,
    INDEX_MATRIX,
    INDICES,
    MATRIX,
    NOTHING,
    NUMBER,
    THREE_INDICES,
    VECTOR,
    WRITTEN_MATRIX,
    WRITTEN_VECTOR,
    compiled,
    part,
)
from impact_aware.control.factorisation import add_row, depends, factorise, first_to_vanish, remove_row, settle

FOUND, EXCLUDED, UNFINISHED = 0, 1, 2
"""How a run of `minimise` ended."""

SOLVED, SOFTENED, CUT, FAILED = 0, 1, 2, 3
"""Results of a program, the worst last: all bounds kept; soft bounds violated; out of steps; not finite."""

POSITION_PENALTY, VELOCITY_PENALTY = 1e4, 1e6
"""rho of soft bounds, in units of the mean of the diagonal of H, or of 1 where that is less."""

FEASIBLE = 1e-10
"""Violation of a bound that is rounding, relative to bounds over 1."""


@compiled(NOTHING, DENSE_MATRIX, MATRIX, INDEX, INDEX, DENSE_VECTOR)
def project(inverse: Array, mass_matrix: Array, row: int, soft: int, projected: Array) -> None:
    """Write J'n for the normal n of a bound.

    Args:
        inverse: J'.
        mass_matrix: (n, n) M.
        row: 1 + the number of the bound, positions, velocities, torques, with a minus for the upper one.
        soft: How many kinds of bounds are soft.
        projected: Written to.
    """
    n = mass_matrix.shape[0]
    sign = 1.0 if row > 0 else -1.0
    number = abs(row) - 1
    kind, joint = number // n, number % n
    for j in range((1 + soft) * n):
        if kind == 2:
            total = 0.0
            for k in range(n):
                total += mass_matrix[joint, k] * inverse[j, k]
        else:
            total = inverse[j, joint]
            if kind < soft:
                total += inverse[j, n + number]
        projected[j] = sign * total


@part(inline=True)
def bounded_value(mass_matrix: Array, x: Array, number: int, soft: int) -> float:
    """Acceleration or torque at x that a bound with this number is on, with the share of s where it is soft."""
    n = mass_matrix.shape[0]
    if number < 2 * n:
        return x[number % n] + (x[n + number] if number < soft * n else 0.0)
    value = 0.0
    for k in range(n):
        value += mass_matrix[number - 2 * n, k] * x[k]
    return value


@compiled(NUMBER, MATRIX, MATRIX, DENSE_VECTOR, INDEX, INDEX)
def excess(mass_matrix: Array, limits: Array, x: Array, row: int, soft: int) -> float:
    """How far a variable x is within a bound; negative where it is violated."""
    number = abs(row) - 1
    kind, joint = number // mass_matrix.shape[0], number % mass_matrix.shape[0]
    value = bounded_value(mass_matrix, x, number, soft)
    return value - limits[2 * kind, joint] if row > 0 else limits[2 * kind + 1, joint] - value


@compiled(INDEX, MATRIX, MATRIX, DENSE_VECTOR, INDEX)
def most_violated(mass_matrix: Array, limits: Array, x: Array, soft: int) -> int:
    """Row of the bound that is violated most, as acceleration; 0 when there is none."""
    n = mass_matrix.shape[0]
    found, most = 0, 0.0
    for number in range(3 * n):
        kind, joint = number // n, number % n
        scale = 1.0 / mass_matrix[joint, joint] if kind == 2 else 1.0
        value = bounded_value(mass_matrix, x, number, soft)
        for side in range(2):
            bound = limits[2 * kind + side, joint]
            violation = value - bound if side else bound - value
            if violation > FEASIBLE * max(1.0, abs(bound)) and violation * scale > most:
                most = violation * scale
                found = -1 - number if side else 1 + number
    return found


@compiled(
    THREE_INDICES, VECTOR, MATRIX, MATRIX, INDEX, INDEX, DENSE_MATRIX, DENSE_MATRIX, DENSE_MATRIX, INDICES
)  # fmt: skip
def minimise(
    gradient: Array,
    mass_matrix: Array,
    limits: Array,
    soft: int,
    most: int,
    inverse: Array,
    triangle: Array,
    vectors: Array,
    active: Array,
) -> tuple[int, int, int]:
    """Find the minimum within the bounds; J' is as `factorise` left it.

    Args:
        gradient: (n,) g.
        mass_matrix: (n, n) M.
        limits: (6, n) Lower and upper position, velocity and torque bounds.
        soft: How many kinds of bounds are soft.
        most: Steps after which to give up.
        inverse: (3 n, 3 n) J', changed.
        triangle: (3 n, 3 n) Room for R.
        vectors: (4, 3 n) Room; x is left in the first row.
        active: (3 n,) Rows of bounds to begin with, then 0; on return those that are active.

    Returns:
        How it ended, how many bounds are active, and how many steps it took.
    """
    size = (1 + soft) * gradient.size
    x, multipliers, projected, change = vectors[0], vectors[1], vectors[2], vectors[3]
    count = given = 0
    while given < active.size and active[given] != 0 and count < size:
        row, active[given] = active[given], 0
        given += 1
        project(inverse, mass_matrix, row, soft, projected)
        if not depends(projected, count, size):
            add_row(inverse, triangle, projected, count, size)
            active[count] = row
            count += 1
    steps = count
    worst = settle(gradient, limits, inverse, triangle, x, multipliers, active, count, size)
    while worst >= 0:
        remove_row(inverse, triangle, multipliers, active, worst, count, size)
        count -= 1
        steps += 1
        worst = settle(gradient, limits, inverse, triangle, x, multipliers, active, count, size)
    while True:
        row = most_violated(mass_matrix, limits, x, soft)
        if row == 0:
            return FOUND, count, steps
        gained = 0.0
        while row != 0:
            steps += 1
            if steps > most:
                return UNFINISHED, count, steps
            project(inverse, mass_matrix, row, soft, projected)
            free = not depends(projected, count, size)
            longest = math.inf
            if free:
                square = 0.0
                for j in range(count, size):
                    square += projected[j] * projected[j]
                longest = -excess(mass_matrix, limits, x, row, soft) / square
            first, blocking = first_to_vanish(triangle, projected, multipliers, change, count)
            step = min(longest, first)
            if step == math.inf:
                return EXCLUDED, count, steps
            if free:
                for j in range(count, size):
                    for k in range(size):
                        x[k] += step * projected[j] * inverse[j, k]
            for j in range(count):
                multipliers[j] -= step * change[j]
            gained += step
            if longest <= first:
                add_row(inverse, triangle, projected, count, size)
                active[count], multipliers[count], row = row, gained, 0
                count += 1
            else:
                remove_row(inverse, triangle, multipliers, active, blocking, count, size)
                count -= 1


@compiled(INDEX, MATRIX, INDEX, WRITTEN_MATRIX)
def copy_bounds(limits: Array, first: int, bounds: Array) -> int:
    """Copy the bounds of one block; soft ones that exclude each other alone become their middle.

    Returns:
        How many kinds of bounds have to be soft on this account.
    """
    soft = 0
    for kind in range(3):
        for i in range(bounds.shape[1]):
            low, high = limits[2 * kind, first + i], limits[2 * kind + 1, first + i]
            if low > high and kind < 2:
                low = high = 0.5 * (low + high)
                soft = kind + 1
            bounds[2 * kind, i], bounds[2 * kind + 1, i] = low, high
    return soft


@compiled(FLAG, MATRIX, MATRIX, DENSE_VECTOR, WRITTEN_VECTOR, WRITTEN_VECTOR)
def torques_of(mass_matrix: Array, limits: Array, x: Array, acceleration: Array, torque: Array) -> bool:
    """Copy the accelerations and cut their torques to the bounds; zeros, cut as well, where not all of them are finite.

    Returns:
        Whether they are.
    """
    n = torque.size
    finite = True
    for i in range(n):
        value = 0.0
        for k in range(n):
            value += mass_matrix[i, k] * x[k]
        finite &= math.isfinite(value)
        torque[i] = value
    for i in range(n):
        acceleration[i] = x[i] if finite else 0.0
        torque[i] = min(max(torque[i] if finite else 0.0, limits[4, i]), limits[5, i])
    return finite


@compiled(
    THREE_INDICES, MATRIX, VECTOR, MATRIX, MATRIX, INDICES, INDEX, DENSE_MATRIX, INDEX_MATRIX, WRITTEN_VECTOR,
    WRITTEN_VECTOR,
)  # fmt: skip
def solve(
    hessian: Array,
    gradient: Array,
    mass_matrix: Array,
    limits: Array,
    sizes: Array,
    most: int,
    room: Array,
    active: Array,
    acceleration: Array,
    torque: Array,
) -> tuple[int, int, int]:
    """Solve a program whose H and M are block diagonal, block by block, softening bounds in the order of their kinds.

    Args:
        hessian: (n, n) H.
        gradient: (n,) g.
        mass_matrix: (n, n) M.
        limits: (6, n) Lower and upper position, velocity and torque bounds.
        sizes: (blocks,) Rows of each block.
        most: Steps for one block after which to give up.
        room: (6 m + 10, 3 m) To work in, for blocks of up to m rows.
        active: (blocks, 3 m) Rows of the bounds that were active, changed; see `minimise`.
        acceleration: (n,) x, written to; where the end is neither SOLVED nor SOFTENED, the last one tried.
        torque: (n,) M x, written to, within its bounds whatever the end.

    Returns:
        The end of the worst block, the number of active bounds, and the largest number of steps of a block.
    """
    worst, total, longest, first, size = SOLVED, 0, 0, 0, room.shape[1]
    inverse, triangle, vectors = room[:size], room[size : 2 * size], room[2 * size :]
    x = vectors[0]
    for block in range(sizes.size):
        n = sizes[block]
        last = first + n
        h, g, m = hessian[first:last, first:last], gradient[first:last], mass_matrix[first:last, first:last]
        bounds, mean = vectors[4:10, :n], 0.0
        for i in range(n):
            mean += max(h[i, i], 0.0) / n
        soft, end, steps, count = copy_bounds(limits, first, bounds), EXCLUDED, 0, 0
        penalty = max(1.0, mean)
        x[0] = math.nan
        while end == EXCLUDED and soft <= 2:
            if not factorise(h, POSITION_PENALTY * penalty, VELOCITY_PENALTY * penalty, soft, inverse):
                break
            end, count, taken = minimise(g, m, bounds, soft, most - steps, inverse, triangle, vectors, active[block])
            steps += taken
            soft += 1
        status = FAILED
        if torques_of(m, bounds, x, acceleration[first:last], torque[first:last]) and end != EXCLUDED:
            status = SOFTENED if soft > 1 else SOLVED
            if end == UNFINISHED:
                status = CUT
        if status == FAILED:
            active[block, :] = 0
        worst, total, longest, first = max(worst, status), total + count, max(longest, steps), last
    return worst, total, longest
