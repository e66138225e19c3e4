"""Simultaneous frictional contacts as one cone complementarity problem on the Delassus matrix.

For m contacts with impulses p_k in their Coulomb cones K_k, velocities after v = W p + g and de Saxce's correction,

    K_k contains p_k, orthogonal to v_k + mu_k |v_t,k| n_k, which lies in the dual cone of K_k,

says Signorini's law (pushes only, does not come closer) and Coulomb's (opposes the slip that is left) at once.
Pinocchio's ADMM solver comes near the answer, contacts scaled alike, and a semismooth Newton method on Alart and
Curnier's form of the problem ends it, however unlike the contacts' mobilities are. Redundant contacts, such as the four
corners of a patch, leave the impulse undetermined though the motion is not: ADMM then gets a very slightly compliant
matrix, whose limit is the impulse of least norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array

# Relative to velocities and impulses of order one, to which the problem is scaled.
_TOLERANCE = 1e-12
_POLISHED = 1e-10
SOLVED = 1e-7
# Nearly always few iterations are enough for Newton's method to converge from; else many are.
_ADMM_ITERATIONS = (200, 20000)
_NEWTON_ITERATIONS = 40
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
        iterations: Of the solver.
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
        The solution; where the solver ends too far from one, of which the residual tells, impulses near it that push
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
    impulse, residual, iterations = np.zeros(3 * count), np.inf, 0
    for limit in _ADMM_ITERATIONS:
        start, steps = _admm(compliant, drive / size, friction, limit)
        iterations += steps
        for candidate in _newton(scaled, drive / size, friction, start):
            unscaled = scale * candidate * size
            error = complementarity_residual(matrix @ unscaled + free, unscaled, friction)
            if error < residual:
                impulse, residual = unscaled, error
            if residual < _POLISHED:
                break
        if residual < SOLVED:
            break
    if not residual < SOLVED:
        impulse = _possible(matrix, free, friction, impulse)
        residual = complementarity_residual(matrix @ impulse + free, impulse, friction)
    answer = np.empty(3 * count)
    answer[order] = impulse * (speed / mass_scale)
    return ConeSolution(answer, rank, degenerate, residual, iterations)


def _possible(matrix: Array, free: Array, friction: Array, impulse: Array) -> Array:
    """The nearest impulse in all cones (normals last), made as large as takes most energy, but no larger than it is."""
    near = impulse.copy().reshape(-1, 3)
    for own, coefficient in zip(near, friction, strict=True):
        across, along = float(np.hypot(own[0], own[1])), float(own[2])
        if coefficient * across <= -along:
            own[:] = 0.0
        elif across > coefficient * along:
            own[2] = (along + coefficient * across) / (1.0 + coefficient * coefficient)
            own[:2] *= coefficient * own[2] / across
    inside = near.ravel()
    taken, growth = float(-(inside @ free)), float(inside @ matrix @ inside)
    return inside * min(max(taken / growth, 0.0), 1.0) if growth > 0.0 else 0.0 * inside


def complementarity_residual(velocity: Array, impulse: Array, friction: Array) -> float:
    """Largest violation of cone, dual cone and orthogonality; contacts in the solver's order, normal last."""
    v, p = velocity.reshape(-1, 3), impulse.reshape(-1, 3)
    slip = np.linalg.norm(v[:, :2], axis=1)
    cone = np.linalg.norm(p[:, :2], axis=1) - friction * p[:, 2]
    # With the correction the dual cone asks for no more than that the contact does not come closer.
    product = np.abs((p * v).sum(axis=1) + friction * slip * p[:, 2])
    size = 1.0 + np.abs(p).max()
    return float(max(cone.max() / size, -p[:, 2].min() / size, -v[:, 2].min(), product.max() / size, 0.0))


def _admm(matrix: Array, free: Array, friction: Array, iterations: int) -> tuple[Array, int]:
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
    return np.array(result.retrieveConstraintImpulses()), int(result.iterations)


def _newton(matrix: Array, free: Array, friction: Array, impulse: Array) -> Iterator[Array]:
    """The impulse that is given, and what each step of a semismooth Newton method makes of it.

    Alart and Curnier's form: with y = p - r v, the normal impulse is max(y_n, 0) and the tangential one is y_t cut off
    at friction times that.
    """
    yield impulse
    unit = np.eye(len(free))
    # r: one factor per normal and one per pair of tangents.
    own = np.diag(matrix).reshape(-1, 3)
    mobility = np.column_stack([*[own[:, :2].mean(axis=1)] * 2, own[:, 2]]).ravel()
    inverse = 1.0 / np.maximum(mobility, 1e-15)
    for _ in range(_NEWTON_ITERATIONS):
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
        try:
            impulse = impulse + np.linalg.lstsq(unit - rows, aims - impulse, rcond=1e-13)[0]
        except np.linalg.LinAlgError:
            return
        yield impulse
