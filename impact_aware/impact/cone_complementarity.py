"""Simultaneous frictional contacts as one cone complementarity problem on the Delassus matrix.

For m contacts with impulses p_k in their Coulomb cones K_k, velocities after v = W p + g and de Saxce's correction,

    K_k contains p_k, orthogonal to v_k + mu_k |v_t,k| n_k, which lies in the dual cone of K_k,

states Signorini's law (pushes only, does not come closer) and Coulomb's (opposes the slip that is left) at once.
Pinocchio's ADMM solver comes near the answer, contacts scaled alike, and a semismooth Newton method on Alart and
Curnier's form of the problem ends it, however unlike the contacts' mobilities are. Redundant contacts, such as the four
corners of a patch, leave the impulse undetermined: ADMM then gets a very slightly compliant matrix, whose limit is the
impulse of least norm. With friction the velocities need not be determined either: corners that slide can share a push
in many ways, and a body may be jammed or slip. One solution is given, without a search for others.
A body that is jammed among many contacts can keep both from the
answer; it is then followed from compliant contacts, whose problem is easy, to rigid ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array

# Relative to velocities and impulses of order one, to which the problem is scaled.
_TOLERANCE = 1e-12
_POLISHED = 1e-11
SOLVED = 1e-9
# Nearly always few iterations are enough for Newton's method to converge from; else many may be.
_ADMM_ITERATIONS = (200, 20000)
_NEWTON_ITERATIONS = 40
# By what compliance falls from step to step; below the one Newton's method may reach rigid contacts at once, below the
# other nothing changes any more.
_STIFFENING = 0.1
_NEARLY_RIGID, _RIGID = 2e-3, 1e-11
_DAMPED_ITERATIONS, _HALVINGS = 30, 8
# Eigenvalues of the scaled matrix below this are none; the compliance stands well below what the results are read to.
_RANK_TOLERANCE = 1e-9
_COMPLIANCE = 1e-9


class ConeSolution(NamedTuple):
    """Impulses of m simultaneous contacts, in contact axes (normal, tangent, tangent).

    Attributes:
        impulse: (3 m,) N s.
        rank: Of the Delassus matrix.
        degenerate: Whether the matrix was singular, so that the impulse is the one of least norm among many.
        residual: Largest violation of the complementarity, relative to the speed and impulse of the problem; below
            `SOLVED` for a solution.
        iterations: Impulses that were tried.
    """

    impulse: Array
    rank: int
    degenerate: bool
    residual: float
    iterations: int


def solve_cone_complementarity(delassus: Array, velocity: Array, friction: Array) -> ConeSolution:
    """Solve for the impulses.

    Args:
        delassus: (3 m, 3 m) W, contact axes, 1/kg, positive semidefinite.
        velocity: (3 m,) g, velocities without impulse, m/s, to whose normal entries any restitution is added.
        friction: (m,) Coulomb's coefficients.

    Returns:
        The solution; where the residual shows that the solver ends too far from one, impulses near it that push
        only, lie in their cones and take energy.
    """
    count = len(friction)
    mass_scale, speed = float(np.trace(delassus)) / (3 * count), float(np.abs(velocity).max())
    if speed == 0.0 or mass_scale <= 0.0:
        return ConeSolution(np.zeros(3 * count), 0, True, 0.0, 0)
    # Pinocchio's cones have their axis last.
    order = (np.arange(count)[:, None] * 3 + np.array([1, 2, 0])).ravel()
    matrix = 0.5 * (delassus + delassus.T)[np.ix_(order, order)] / mass_scale
    free = velocity[order] / speed
    rank = int(np.sum(np.linalg.eigvalsh(matrix) > _RANK_TOLERANCE))
    degenerate = rank < 3 * count
    # The tangents of a contact without friction get no impulse, whatever they are coupled to.
    slippery = (np.repeat(friction == 0.0, 3)) & (np.arange(3 * count) % 3 < 2)
    reduced, drive = np.where(slippery | slippery[:, None], np.diag(slippery.astype(float)), matrix), free.copy()
    drive[slippery] = 0.0
    # One factor per contact leaves its cone as it is.
    mobility = np.diag(reduced).reshape(-1, 3).mean(axis=1)
    scale = np.repeat(1.0 / np.sqrt(np.maximum(mobility, _COMPLIANCE)), 3)
    scaled, compliant = (
        (reduced + softness * np.eye(3 * count)) * np.outer(scale, scale)
        for softness in (0.0, _COMPLIANCE if degenerate else 0.0)
    )
    drive *= scale
    size = float(np.abs(drive).max()) or 1.0
    eased = drive / size
    ways = [_from_admm(compliant, scaled, eased, friction, limit) for limit in _ADMM_ITERATIONS]
    ways.append(_from_compliant(scaled, eased, friction))
    iterations = 0
    impulse, residual = np.zeros(3 * count), np.inf
    tried: list[Array] = []
    for candidates in ways:
        for candidate in candidates:
            iterations += 1
            tried.append(scale * candidate * size)
            error = complementarity_residual(matrix @ tried[-1] + free, tried[-1], friction)
            if error < residual:
                impulse, residual = tried[-1], error
            if residual < _POLISHED:
                break
        if residual < SOLVED:
            break
    # Rounding outside a cone is cut off; without a solution the best of what can happen stands for it.
    stands_for = [impulse, _in_cones(impulse, friction)]
    if not residual < SOLVED:
        possible = [np.zeros(3 * count), *(each for each in tried if np.isfinite(each).all())]
        stands_for = [_lossy(matrix, free, _in_cones(each, friction)) for each in possible]
    errors = [complementarity_residual(matrix @ each + free, each, friction) for each in stands_for]
    impulse, residual = stands_for[int(np.argmin(errors))], min(errors)
    answer = np.empty(3 * count)
    answer[order] = impulse * (speed / mass_scale)
    return ConeSolution(answer, rank, degenerate, residual, iterations)


def _in_cones(impulse: Array, friction: Array) -> Array:
    """The nearest impulse in all cones (normals last)."""
    near = impulse.copy().reshape(-1, 3)
    for own, coefficient in zip(near, friction, strict=True):
        across, along = float(np.hypot(own[0], own[1])), float(own[2])
        if coefficient * across <= -along:
            own[:] = 0.0
        elif across > coefficient * along:
            own[2] = (along + coefficient * across) / (1.0 + coefficient * coefficient)
            own[:2] *= coefficient * own[2] / across
    return near.ravel()


def _lossy(matrix: Array, free: Array, impulse: Array) -> Array:
    """The impulse where it makes no energy, else so much of it as takes most."""
    taken, growth = float(-(impulse @ free)), float(impulse @ matrix @ impulse)
    if taken >= 0.5 * growth:
        return impulse
    return impulse * (max(taken, 0.0) / growth)


def complementarity_residual(velocity: Array, impulse: Array, friction: Array) -> float:
    """Largest violation of cone, dual cone and orthogonality; contacts in the solver's order, normal last."""
    v, p = velocity.reshape(-1, 3), impulse.reshape(-1, 3)
    slip = np.linalg.norm(v[:, :2], axis=1)
    cone = np.linalg.norm(p[:, :2], axis=1) - friction * p[:, 2]
    # With the correction the dual cone asks for no more than that the contact does not come closer.
    product = np.abs((p * v).sum(axis=1) + friction * slip * p[:, 2])
    size = 1.0 + np.abs(p).max()
    return float(max(cone.max() / size, -p[:, 2].min() / size, -v[:, 2].min(), product.max() / size, 0.0))


def _admm(matrix: Array, free: Array, friction: Array, iterations: int) -> Array:
    # The cones live in constraint models; their kinematics are not used, so an empty model carries them.
    model = pin.Model()
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for coefficient in friction:
        point = pin.PointContactConstraintModel(model, 0, pin.SE3.Identity())
        point.setFriction(float(coefficient))
        models.append(pin.ConstraintModel(point))
        datas.append(models[-1].createData())
    settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    settings.max_iterations = iterations
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = _TOLERANCE
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = _TOLERANCE
    settings.solve_ncp = True
    solver = pin.ADMMConstraintSolver(len(free))
    solver.solve(pin.DelassusOperatorDense(matrix), free, models, datas, settings, result)
    return np.array(result.retrieveConstraintImpulses())


def _from_admm(compliant: Array, matrix: Array, free: Array, friction: Array, limit: int) -> Iterator[Array]:
    """ADMM's answer after `limit` iterations, and what Newton's method makes of it."""
    yield from _newton(matrix, free, friction, _admm(compliant, free, friction, limit))


def _newton(matrix: Array, free: Array, friction: Array, impulse: Array) -> Iterator[Array]:
    """The impulse that is given, and what each step of a semismooth Newton method makes of it."""
    yield impulse
    inverse = _inverse_mobility(matrix)
    for _ in range(_NEWTON_ITERATIONS):
        left, slope = _alart_curnier(matrix, free, friction, impulse, inverse)
        try:
            impulse = impulse + np.linalg.lstsq(slope, left, rcond=1e-13)[0]
        except np.linalg.LinAlgError:
            return
        yield impulse


def _from_compliant(matrix: Array, free: Array, friction: Array) -> Iterator[Array]:
    """Impulses of contacts that become stiffer and stiffer, each from the last, and Newton's method on rigid ones."""
    impulse, compliance = np.zeros(len(free)), 1.0
    while compliance > _RIGID:
        impulse = _damped_newton(matrix + compliance * np.eye(len(free)), free, friction, impulse)
        if compliance < _NEARLY_RIGID:
            yield from _newton(matrix, free, friction, impulse)
        else:
            yield impulse
        compliance *= _STIFFENING


def _damped_newton(matrix: Array, free: Array, friction: Array, impulse: Array) -> Array:
    """Newton's method with halved steps where a whole one does not help, for a matrix that is positive definite."""
    inverse = _inverse_mobility(matrix)
    left, slope = _alart_curnier(matrix, free, friction, impulse, inverse)
    size = float(np.linalg.norm(left))
    for _ in range(_DAMPED_ITERATIONS):
        if size <= _TOLERANCE * (1.0 + float(np.abs(impulse).max())):
            break
        try:
            step = np.linalg.solve(slope, left)
        except np.linalg.LinAlgError:
            break
        trials = []
        for halving in range(_HALVINGS):
            moved = impulse + 0.5**halving * step
            trial = (moved, *_alart_curnier(matrix, free, friction, moved, inverse))
            trials.append((float(np.linalg.norm(trial[1])), halving, trial))
            if trials[-1][0] < size * (1.0 - 1e-4 * 0.5**halving):
                break
        size, _, (impulse, left, slope) = min(trials, key=lambda each: each[:2])
    return impulse


def _inverse_mobility(matrix: Array) -> Array:
    """Factors r of Alart and Curnier's form (3 m,): one factor per normal and one per pair of tangents."""
    own = np.diag(matrix).reshape(-1, 3)
    mobility = np.column_stack([*[own[:, :2].mean(axis=1)] * 2, own[:, 2]]).ravel()
    return np.asarray(1.0 / np.maximum(mobility, 1e-15))


def _alart_curnier(matrix: Array, free: Array, friction: Array, impulse: Array, inverse: Array) -> tuple[Array, Array]:
    """What an impulse lacks of Alart and Curnier's form of the problem, and minus its derivative by the impulse.

    With y = p - r v, the normal impulse is max(y_n, 0) and the tangential one is y_t cut off at friction times that.
    """
    unit = np.eye(len(free))
    rows = unit - inverse[:, None] * matrix
    aims = rows @ impulse - inverse * free
    for k, coefficient in enumerate(friction):
        tangents, normal = slice(3 * k, 3 * k + 2), 3 * k + 2
        if not aims[normal] > 0.0:
            aims[normal], rows[normal] = 0.0, 0.0
        reach, length = coefficient * aims[normal], float(np.hypot(*aims[tangents]))
        if length > reach:
            along = aims[tangents] / length
            turning = (np.eye(2) - np.outer(along, along)) @ rows[tangents]
            aims[tangents] = reach * along
            rows[tangents] = reach / length * turning + np.outer(along, coefficient * rows[normal])
    return aims - impulse, unit - rows
