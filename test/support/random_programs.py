"""Random programs such as the controller's, and what proves their minimum without our solver."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linprog, nnls

from impact_aware.arrays import Array
from impact_aware.control.active_set import POSITION_PENALTY, VELOCITY_PENALTY
from impact_aware.control.qp import QuadraticProgram
from impact_aware.errors import ImpactAwareError

try:
    import piqp
except ImportError:
    # A reference, which nobody needs to control an arm.
    piqp = None

KINDS = ("calm", "regular", "ill-conditioned", "conflicting")
"""No bound active; many; a Hessian of condition up to 1e9; position bounds, or both kinds, that the torque excludes."""

_ACCURACY = 1e-11

_TOUCHING = 1e-8
"""Distance from a bound, relative to bounds over 1, up to which it counts as active."""


def random_program(generator: np.random.Generator, sizes: Sequence[int], kind: str) -> QuadraticProgram:
    """One with blocks of these sizes on the diagonals of H and M."""
    n = sum(sizes)
    hessian, mass, gradient, limits = np.zeros((n, n)), np.zeros((n, n)), np.empty(n), np.empty((6, n))
    first = 0
    for size in sizes:
        block = slice(first, first + size)
        hessian[block, block], gradient[block], mass[block, block], limits[:, block] = _block(generator, size, kind)
        first += size
    return QuadraticProgram(hessian, gradient, mass, limits)


def _block(generator: np.random.Generator, n: int, kind: str) -> tuple[Array, Array, Array, Array]:
    ill = kind == "ill-conditioned"
    # As many rows as joints, one less at a singular posture.
    rows = generator.normal(size=(n - int(ill and generator.random() < 0.5), n))
    if ill:
        rows *= 10.0 ** generator.uniform(-2.0, 1.0, (rows.shape[0], 1))
    hessian = rows.T @ rows + 1e-6 * np.eye(n)
    gradient = -rows.T @ generator.normal(size=rows.shape[0]) * 10.0 ** generator.uniform(0.0, 2.5)
    turned = np.linalg.qr(generator.normal(size=(n, n)))[0]
    mass = turned @ np.diag(10.0 ** generator.uniform(-1.0, 0.5, n)) @ turned.T
    mass = 0.5 * (mass + mass.T)
    centre = 5.0 * generator.normal(size=n)
    reach = 10.0 ** generator.uniform(-0.5, 1.5, n)
    if kind == "calm":
        centre, reach = np.linalg.solve(hessian, -gradient), 1e6 * reach
    limits = np.empty((6, n))
    limits[4], limits[5] = mass @ centre - reach, mass @ centre + reach
    for lower in (0, 2):
        below, above = (1e6 if kind == "calm" else 1.0) * 10.0 ** generator.uniform(-1.0, 2.0, (2, n))
        limits[lower], limits[lower + 1] = centre - below, centre + above
    if kind == "conflicting":
        # In some joints the position bounds, in half of the programs the velocity bounds too, ask for far too much.
        for lower in (0, 2)[: int(generator.integers(1, 3))]:
            shift = np.where(generator.random(n) < 0.4, 200.0 * generator.choice([-1.0, 1.0], n), 0.0)
            limits[lower : lower + 2] += shift
    return hessian, gradient, mass, limits


def reference(program: QuadraticProgram) -> Array | None:
    """The minimum (n,) within all bounds by PIQP, or None where it finds none.

    Raises:
        ImpactAwareError: PIQP is not installed.
    """
    if piqp is None:
        raise ImpactAwareError("the reference minimum comes from PIQP, which is not installed")
    limits, n = program.limits, program.gradient.size
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = _ACCURACY
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = _ACCURACY
    rows = np.vstack([np.eye(n), np.eye(n), program.mass_matrix])
    lower, upper = limits[::2].ravel(), limits[1::2].ravel()
    solver.setup(program.hessian, program.gradient, None, None, rows, lower, upper, None, None)
    return np.array(solver.result.x[:n]) if solver.solve() == piqp.PIQP_SOLVED else None


def optimality(program: QuadraticProgram, sizes: Sequence[int], x: Array) -> tuple[float, float, bool]:
    """How far a point is from meeting the conditions of Karush, Kuhn and Tucker, block by block.

    At the minimum the slope of the cost, soft bounds' with it, is a sum of the normals of the active hard bounds with
    multipliers >= 0, and no hard bound is violated.

    Args:
        program: Whose bounds of one kind don't exclude each other alone.
        sizes: Of its blocks.
        x: (n,) To be its minimum.

    Returns:
        What is left of the slope, relative to its largest part; the largest violation; whether a block has to be soft,
        as a linear program finds.
    """
    left, beyond, softened, first = 0.0, 0.0, False, 0
    for size in sizes:
        block = slice(first, first + size)
        first += size
        hessian, limits, own = program.hessian[block, block], program.limits[:, block], x[block]
        rows = (np.eye(size), np.eye(size), program.mass_matrix[block, block])
        soft = next(count for count in range(3) if _possible(rows[count:], limits[2 * count :]))
        softened |= soft > 0
        parts = [hessian @ own, program.gradient[block]]
        scale = max(1.0, float(np.trace(hessian)) / size)
        for kind, penalty in enumerate((POSITION_PENALTY, VELOCITY_PENALTY)[:soft]):
            parts.append(penalty * scale * (own - np.clip(own, limits[2 * kind], limits[2 * kind + 1])))
        normals = []
        for kind in range(soft, 3):
            for sign, bounds in ((1.0, limits[2 * kind]), (-1.0, limits[2 * kind + 1])):
                excess = sign * (rows[kind] @ own - bounds)
                beyond = max(beyond, float(-excess.min()))
                normals += [
                    sign * normal for normal in rows[kind][excess < _TOUCHING * np.maximum(1.0, np.abs(bounds))]
                ]
        slope = np.sum(parts, axis=0)
        residual = nnls(np.array(normals).T, slope)[1] if normals else float(np.linalg.norm(slope))
        left = max(left, residual / max(1.0, max(float(np.abs(part).max()) for part in parts)))
    return left, beyond, softened


def _possible(rows: Sequence[Array], limits: Array) -> bool:
    """Whether all of these bounds can be kept at once."""
    both = np.vstack([*rows, *(-row for row in rows)])
    bounds = np.concatenate([limits[1::2].ravel(), -limits[::2].ravel()])
    free = [(None, None)] * rows[0].shape[1]
    return bool(linprog(np.zeros(rows[0].shape[1]), A_ub=both, b_ub=bounds, bounds=free).status == 0)
