"""Simultaneous frictional contacts as one cone complementarity problem on the Delassus matrix.

For m contacts with impulses p_k in their Coulomb cones K_k, velocities after v = W p + g and de Saxce's correction,

    K_k contains p_k, orthogonal to v_k + mu_k |v_t,k| n_k, which lies in the dual cone of K_k,

states Signorini's law (pushes only, does not come closer) and Coulomb's (opposes the slip that is left) at once.

With friction neither impulses nor velocities need be determined: corners that slide can share a push in many ways, and
a body may be jammed or slip. The answer is the limit of contacts that yield alike: contact k gives way by c w_k p_k,
with w_k the mean of its own mobilities, and c falls from 1, where contacts hardly act on each other. A semismooth
Newton method on Alart and Curnier's form follows the solution to c = 1e-6. Proximal steps, in which contacts yield only
to the change of their impulses, end at rigid contacts, without a choice of rank. Where a solution ends on the way, as
in a jam, the same steps go on from there with softer contacts. Axes and order of the contacts have no part in this.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.compiled import (
    CONSTANT_MATRIX,
    CONSTANT_VECTOR,
    DENSE_MATRIX,
    DENSE_VECTOR,
    INDEX,
    NUMBER,
    compiled,
    part,
)

SOLVED = 1e-9
"""Residual below which an impulse is a solution."""

# Residual at which an impulse is good enough, at which a compliant problem is solved, and of rounding.
_POLISHED, _CONVERGED, _ROUNDING = 1e-13, 1e-10, 1e-16
# Compliances of the way to rigid contacts; of proximal steps after one that succeeded and one that failed.
_STIFFENING = tuple(10.0**-power for power in range(7))
_STIFFER, _SOFTER = 0.7, 2.0
_SOFTEST, _MOST_STEPS = 1e4, 300
_ITERATIONS, _HALVINGS = 40, 10
# Compliance with which proximal steps of a search start, and their number; directions of a cone's edges (16, 3).
_SEARCHED, _SEARCH_STEPS = 1e-2, 60
_EDGES = np.array([(1.0, math.cos(angle), math.sin(angle)) for angle in np.arange(16) * math.pi / 8.0])
# Eigenvalues of the scaled matrix below this are none, as are a contact's own mobilities.
_RANK_TOLERANCE = 1e-9
# Velocities that differ by less, relative to the largest one before, are one; change of the velocities by what the
# residual allows, above which they are not determined.
_DISTINCT, _DETERMINED = 1e-6, 1e-10


class ConeSolution(NamedTuple):
    """Impulses of m simultaneous contacts, in contact axes (normal, tangent, tangent).

    Attributes:
        impulse: (3 m,) N s.
        rank: Of the Delassus matrix.
        degenerate: Whether the matrix is singular, so that the impulse is one among many.
        residual: Largest violation of Alart and Curnier's form, relative to the speed and impulse of the problem; below
            `SOLVED` for a solution.
        iterations: Compliant problems that were solved.
        unique: Whether it is a solution, none with velocities next to its own exists, also once impulses are given
            back, and a search, if there was one, found none with others.
        others: Impulses (3 m,) of the solutions with other velocities that a search found, N s.
    """

    impulse: Array
    rank: int
    degenerate: bool
    residual: float
    iterations: int
    unique: bool = True
    others: tuple[Array, ...] = ()


class _Problem(NamedTuple):
    """The problem with velocities of order one and contacts whose own mobilities have the mean 1."""

    matrix: Array
    free: Array
    friction: Array


def solve_cone_complementarity(
    delassus: Array, velocity: Array, friction: Array, *, restitution: Array | None = None, search: bool = False
) -> ConeSolution:
    """Solve for the impulses.

    Args:
        delassus: (3 m, 3 m) W, contact axes, 1/kg, positive semidefinite.
        velocity: (3 m,) g, velocities without impulse, m/s, to whose normal entries any restitution is added.
        friction: (m,) Coulomb's coefficients.
        restitution: (m,) Shares of the normal impulses that are given back, if any, for whether velocities after that
            are unique too.
        search: Whether to search for solutions with other velocities: from jams and without one of the contacts. To
            find none is no proof that there are none.

    Returns:
        The solution; where the residual shows that the solver ends too far from one, impulses near it that push
        only, lie in their cones and take energy.
    """
    count = len(friction)
    mobility, speed = np.diag(delassus).reshape(-1, 3).mean(axis=1), float(np.abs(velocity).max())
    floor = _RANK_TOLERANCE * float(mobility.mean())
    if speed == 0.0 or floor <= 0.0:
        return ConeSolution(np.zeros(3 * count), 0, True, 0.0, 0)
    rank = int(np.sum(np.linalg.eigvalsh(delassus) > floor))
    # One factor per contact leaves its cone as it is.
    scale = np.repeat(1.0 / np.sqrt(np.maximum(mobility, floor)), 3)
    matrix, free = delassus * np.outer(scale, scale), velocity * scale
    # The tangents of a contact without friction get no impulse, whatever they are coupled to.
    slippery = np.repeat(friction == 0.0, 3) & (np.arange(3 * count) % 3 > 0)
    matrix[slippery], matrix[:, slippery], free[slippery] = 0.0, 0.0, 0.0
    matrix[slippery, slippery] = 1.0
    size = float(np.abs(free).max()) or 1.0
    problem, unit = _Problem(0.5 * (matrix + matrix.T), free / size, friction), scale * size
    impulse, residual, steps = _follow(problem)
    others: list[Array] = []
    if not residual < SOLVED:
        impulse = _lossy(problem, _in_cones(impulse, friction))
        residual = _lacking(problem, impulse)[0]
    elif search:
        known = [delassus @ (unit * impulse)]
        for start in _starts(problem):
            found, error, more = _rigid(problem, start, _SEARCHED, _SEARCH_STEPS)
            change, steps = delassus @ (unit * found), steps + more
            if error < SOLVED and all(np.abs(change - one).max() > _DISTINCT * speed for one in known):
                known.append(change)
                others.append(unit * found)
    unique = residual < SOLVED and not others and not _drifts(problem, impulse, restitution)
    return ConeSolution(unit * impulse, rank, rank < 3 * count, residual, steps, unique, tuple(others))


def _follow(problem: _Problem) -> tuple[Array, float, int]:
    """Impulse that contacts which yield alike reach as they become rigid, its residual, and the problems solved."""
    impulse, softness, steps = np.zeros(len(problem.free)), _STIFFENING[0], 0
    for compliance in _STIFFENING:
        steps += 1
        found, solved = _yielding(problem, compliance, np.zeros(len(impulse)), impulse)
        if not solved:
            break
        impulse, softness = found, compliance
    found, residual, more = _rigid(problem, impulse, softness, _MOST_STEPS)
    return found, residual, steps + more


def _rigid(problem: _Problem, impulse: Array, compliance: float, most: int) -> tuple[Array, float, int]:
    """Best impulse of proximal steps from an impulse, its residual, and the steps."""
    best, least, steps = impulse, _lacking(problem, impulse)[0], 0
    while steps < most and least > _POLISHED and compliance < _SOFTEST:
        steps += 1
        found, solved = _yielding(problem, compliance, impulse, impulse)
        if not solved:
            compliance *= _SOFTER
            continue
        impulse, compliance = found, max(_STIFFENING[-1], _STIFFER * compliance)
        residual = _lacking(problem, impulse)[0]
        if residual < least:
            best, least = impulse, residual
    return best, least, steps


def _yielding(problem: _Problem, compliance: float, reference: Array, start: Array) -> tuple[Array, bool]:
    """Impulse of contacts that yield by `compliance` times its difference from a reference, and whether it solves."""
    matrix, impulse, size = problem.matrix + compliance * np.eye(len(start)), start.copy(), len(start)
    free = problem.free - compliance * reference
    left = _newton(matrix, free, problem.friction, 0.1 * _POLISHED, _ITERATIONS, impulse, np.empty((size, 3)))
    return impulse, left <= _CONVERGED * max(1.0, float(np.abs(impulse).max()))


def _lacking(problem: _Problem, impulse: Array) -> tuple[float, Array]:
    """Residual of an impulse, and the derivative (3 m, 3) of Alart and Curnier's projection, contact by contact."""
    slope = np.empty((len(impulse), 3))
    left = _newton(*problem, 0.0, 0, impulse.copy(), slope)
    return left / max(1.0, float(np.abs(impulse).max())), slope


def _drifts(problem: _Problem, impulse: Array, restitution: Array | None) -> bool:
    """Whether solutions next to this one have other velocities, or other ones once impulses are given back."""
    count, matrix = len(problem.friction), problem.matrix
    residual, slope = _lacking(problem, impulse)
    ahead = np.eye(len(impulse)) - matrix / _own_mobility(matrix)[:, None]
    projected = (slope.reshape(count, 3, 3) @ ahead.reshape(count, 3, -1)).reshape(ahead.shape)
    _, size, directions = np.linalg.svd(np.eye(len(impulse)) - projected)
    back = np.zeros((count, 3))
    back[:, 0] = 0.0 if restitution is None else restitution
    moved = np.maximum(*(np.abs(way @ matrix).max(axis=1) for way in (directions, directions * back.ravel())))
    error = max(residual, _ROUNDING) * max(1.0, float(np.abs(impulse).max()))
    # A singular value of exactly zero stands for one of rounding.
    return bool((moved * error > _DETERMINED * np.maximum(size, _ROUNDING)).any())


def _starts(problem: _Problem) -> Iterator[Array]:
    """Impulses that stop all contacts, one alone or all but one as far as they can, and solutions of only those."""
    from scipy.optimize import nnls  # takes long to import

    matrix, free, friction = problem
    contacts = tuple(range(len(friction)))
    some = [(k,) for k in contacts] + [contacts[:k] + contacts[k + 1 :] for k in contacts]
    for kept in dict.fromkeys((contacts, *(each for each in some if each))):
        rows = (3 * np.array(kept)[:, None] + np.arange(3)).ravel()
        those = _Problem(np.ascontiguousarray(matrix[np.ix_(rows, rows)]), free[rows], friction[list(kept)])
        edges = np.zeros((len(kept), 3, len(kept), len(_EDGES)))
        for k, coefficient in enumerate(those.friction.tolist()):
            edges[k, :, k] = (_EDGES * (1.0, coefficient, coefficient)).T
        shares = edges.reshape(len(rows), -1)
        impulse = np.zeros(len(free))
        with contextlib.suppress(RuntimeError):  # too many iterations
            impulse[rows] = shares @ nnls(those.matrix @ shares, -those.free)[0]
            yield impulse
        if kept != contacts:
            impulse = np.zeros(len(free))
            impulse[rows] = _follow(those)[0]
            yield impulse


def _in_cones(impulse: Array, friction: Array) -> Array:
    """The nearest impulse in all cones."""
    near = impulse.copy().reshape(-1, 3)
    for own, coefficient in zip(near, friction, strict=True):
        across, along = float(np.hypot(own[1], own[2])), float(own[0])
        if coefficient * across <= -along:
            own[:] = 0.0
        elif across > coefficient * along:
            own[0] = (along + coefficient * across) / (1.0 + coefficient * coefficient)
            own[1:] *= coefficient * own[0] / across
    return near.ravel()


def _lossy(problem: _Problem, impulse: Array) -> Array:
    """The impulse where it makes no energy, else so much of it as takes most."""
    taken, growth = float(-(impulse @ problem.free)), float(impulse @ problem.matrix @ impulse)
    if taken >= 0.5 * growth:
        return impulse
    return impulse * (max(taken, 0.0) / growth)


@part()
def _own_mobility(matrix: Array) -> Array:
    """Mobility (3 m,) of each contact along its normal, and its mean along the tangents."""
    own = np.empty(len(matrix))
    for k in range(0, len(matrix), 3):
        own[k] = max(matrix[k, k], _RANK_TOLERANCE)
        own[k + 1] = own[k + 2] = max(0.5 * (matrix[k + 1, k + 1] + matrix[k + 2, k + 2]), _RANK_TOLERANCE)
    return own


@part()
def _form(
    matrix: Array, free: Array, friction: Array, own: Array, impulse: Array, left: Array, slope: Array
) -> float:
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
    own, count = _own_mobility(matrix), len(free)
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
