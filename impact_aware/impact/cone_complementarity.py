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
from impact_aware.impact.cone_kernels import follow, lacking, own_mobility, scale, stiffen

SOLVED = 1e-9
"""Residual below which an impulse is a solution."""

_ROUNDING = 1e-16
# Compliance with which proximal steps of a search start, and their number; angles of a cone's edges from the slip.
_SEARCHED, _SEARCH_STEPS = 1e-2, 60
_EDGES = np.arange(16) * math.pi / 8.0
# Velocities that differ by less, relative to the largest one before, are one; change of the velocities by what the
# residual allows, above which they are not determined.
_DISTINCT, _DETERMINED = 1e-6, 1e-10
# Normal velocity that puts a contact on either side of a kink, and change of a slope there.
_ASIDE, _KINK = 1e-9, 1e-3


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
    count, speed = len(velocity), float(np.abs(velocity).max())
    delassus, velocity = np.ascontiguousarray(delassus), np.ascontiguousarray(velocity)
    problem, unit = _Problem(np.empty((count, count)), np.empty(count), friction), np.empty(count)
    floor = scale(delassus, velocity, friction, unit, problem.matrix, problem.free)
    if not floor > 0.0:
        return ConeSolution(np.zeros(count), 0, True, 0.0, 0)
    rank = int(np.sum(np.linalg.eigvalsh(delassus) > floor))
    impulse = np.empty(count)
    residual, steps = follow(*problem, impulse)
    others: list[Array] = []
    if not residual < SOLVED:
        impulse = _lossy(problem, _in_cones(impulse, friction))
        residual = lacking(*problem, impulse, np.empty((count, 3)))
    elif search:
        known = [delassus @ (unit * impulse)]
        for start in _starts(problem):
            found = start.copy()
            error, more = stiffen(*problem, _SEARCHED, _SEARCH_STEPS, found)
            change, steps = delassus @ (unit * found), steps + more
            if error < SOLVED and all(np.abs(change - one).max() > _DISTINCT * speed for one in known):
                known.append(change)
                others.append(unit * found)
    unique = residual < SOLVED and not others and not _drifts(problem, impulse, restitution)
    return ConeSolution(unit * impulse, rank, rank < count, residual, steps, unique, tuple(others))


def _drifts(problem: _Problem, impulse: Array, restitution: Array | None) -> bool:
    """Whether solutions next to this one have other velocities, or other ones once impulses are given back."""
    count, matrix = len(problem.friction), problem.matrix
    slope, aside = np.empty((len(impulse), 3)), np.zeros(len(impulse))
    aside[::3] = _ASIDE
    residual = lacking(*problem, impulse, slope)
    slopes = [slope]
    for free in (problem.free - aside, problem.free + aside):
        # Where a contact is about to push, or to slip, rounding decides on which side it is.
        beside = np.empty_like(slope)
        lacking(matrix, free, problem.friction, impulse, beside)
        slopes += [beside] if np.abs(beside - slope).max() > _KINK else []
    back = np.zeros((count, 3))
    back[:, 0] = 0.0 if restitution is None else restitution
    error = max(residual, _ROUNDING) * max(1.0, float(np.abs(impulse).max()))
    return any(_slack(matrix, each, back.ravel(), error) for each in slopes)


def _slack(matrix: Array, slope: Array, back: Array, error: float) -> bool:
    """Whether an error (of the impulses) moves velocities, now or after `back` (3 m,) of it, at a slope (3 m, 3)."""
    count = len(back)
    ahead = np.eye(count) - matrix / own_mobility(matrix)[:, None]
    projected = (slope.reshape(-1, 3, 3) @ ahead.reshape(-1, 3, count)).reshape(ahead.shape)
    try:
        size, directions = _singular_values(np.eye(count) - projected)
    except np.linalg.LinAlgError:
        return True
    moved = np.maximum(*(np.abs(way @ matrix).max(axis=1) for way in (directions, directions * back)))
    # A singular value of exactly zero stands for one of rounding.
    return bool((moved * error > _DETERMINED * np.maximum(size, _ROUNDING)).any())


def _singular_values(matrix: Array) -> tuple[Array, Array]:
    """Singular values (n,) and right singular vectors (n, n) as rows, by LAPACK's slow way where its fast one fails.

    Raises:
        LinAlgError: Neither converges.
    """
    try:
        _, size, directions = np.linalg.svd(matrix)
    except np.linalg.LinAlgError:
        from scipy.linalg import svd  # takes long to import

        _, size, directions = svd(matrix, lapack_driver="gesvd")
    return size, directions


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
            angles = math.atan2(those.free[3 * k + 2], those.free[3 * k + 1]) + _EDGES
            edges[k, :, k] = np.ones(len(angles)), coefficient * np.cos(angles), coefficient * np.sin(angles)
        shares = edges.reshape(len(rows), -1)
        impulse = np.zeros(len(free))
        with contextlib.suppress(RuntimeError):  # too many iterations
            impulse[rows] = shares @ nnls(those.matrix @ shares, -those.free)[0]
            yield impulse
        if kept != contacts:
            impulse, own = np.zeros(len(free)), np.empty(len(rows))
            follow(*those, own)
            impulse[rows] = own
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
