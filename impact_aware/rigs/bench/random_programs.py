"""Random programs such as the controller's, and their minimum by a solver that is not ours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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


def reference(program: QuadraticProgram, sizes: Sequence[int]) -> tuple[Array, bool]:
    """The minimum (n,) by PIQP, block by block in the order of softening, and whether any block was softened.

    Raises:
        ImpactAwareError: PIQP is not installed.
    """
    if piqp is None:
        raise ImpactAwareError("the reference minimum comes from PIQP, which is not installed")
    found, softened, first = [], False, 0
    for size in sizes:
        block = slice(first, first + size)
        first += size
        mass, limits = program.mass_matrix[block, block], program.limits[:, block]
        for soft in range(3):
            x = _minimum(program.hessian[block, block], program.gradient[block], mass, limits, soft)
            if x is not None:
                break
        else:
            raise RuntimeError("no minimum even with soft bounds")
        found.append(x)
        softened |= soft > 0
    return np.concatenate(found), softened


def _minimum(hessian: Array, gradient: Array, mass: Array, limits: Array, soft: int) -> Array | None:
    """Minimum over the accelerations and the scaled excess of soft bounds; None where the bounds exclude each other."""
    n = gradient.size
    size = (1 + soft) * n
    scale = max(1.0, float(np.trace(hessian)) / n)
    cost, rows = np.eye(size), np.zeros((3 * n, size))
    cost[:n, :n] = hessian
    rows[: 2 * n, :n] = np.tile(np.eye(n), (2, 1))
    rows[2 * n :, :n] = mass
    for kind, penalty in enumerate((POSITION_PENALTY, VELOCITY_PENALTY)[:soft]):
        rows[kind * n : (1 + kind) * n, (1 + kind) * n : (2 + kind) * n] = np.eye(n) / np.sqrt(penalty * scale)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = _ACCURACY
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = _ACCURACY
    lower, upper = limits[::2].ravel(), limits[1::2].ravel()
    solver.setup(cost, np.append(gradient, np.zeros(size - n)), None, None, rows, lower, upper, None, None)
    return np.array(solver.result.x[:n]) if solver.solve() == piqp.PIQP_SOLVED else None
