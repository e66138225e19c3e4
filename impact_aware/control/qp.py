"""The controller's quadratic program: built by one function, solved by another (paper 002, eqs. 27-31).

Solvers compared on 7 and 14 variables with as many box and as many torque constraints, on two shared cores,
microseconds per solve from Python with all data changed, constraints inactive / active:

======== ============ ============
solver   7 variables  14 variables
======== ============ ============
ProxQP   30 / 46      28 / 48
quadprog 28 / 25      21 / 29
PIQP     70 / 52      93 / 113
======== ============ ============

quadprog is the quickest, but its licence (GPL) does not go with this project's, so ProxQP is used. Most of the time no
limit is active, and then the minimiser without constraints is the solution: it is tried first, at 8 / 16 us.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np
import proxsuite
from numpy.typing import NDArray

from impact_aware.control.constraints import AccelerationBounds

Array = NDArray[np.float64]

_ACCURACY = 1e-6
_POSITION_PENALTY = 1e2
_VELOCITY_PENALTY = 1e4


class QpStatus(enum.IntEnum):
    """How a quadratic program ended."""

    SOLVED = 0
    SOFTENED = 1
    FAILED = 2


class QuadraticProgram(NamedTuple):
    """min 1/2 x'Hx + g'x over joint accelerations x (n,), within acceleration bounds and lower <= M x + h <= upper."""

    hessian: Array  # (n, n)
    gradient: Array  # (n,)
    bounds: AccelerationBounds
    mass_matrix: Array  # (n, n)
    effort_lower: Array  # (n,), torque minus h
    effort_upper: Array  # (n,), torque minus h


class QpSolution(NamedTuple):
    """Joint accelerations (n,), rad/s^2, M x (n,), N m, and how they were found."""

    acceleration: Array
    inertia_torque: Array
    status: QpStatus


def build(
    matrix: Array,
    target: Array,
    bounds: AccelerationBounds,
    mass_matrix: Array,
    bias: Array,
    effort_range: tuple[Array, Array],
    regularisation: float,
) -> QuadraticProgram:
    """Stack the tasks' least-squares problem ||A x - b||^2 and the limits into one program.

    Args:
        matrix: (rows, n) A, rows weighted.
        target: (rows,) b, rows weighted.
        bounds: On the accelerations.
        mass_matrix: (n, n) M + B_theta of all arms, block diagonal.
        bias: (n,) h of all arms, N m.
        effort_range: Lowest and highest torque (n,), N m.
        regularisation: Added to the diagonal of the Hessian.
    """
    hessian = matrix.T @ matrix
    hessian.flat[:: hessian.shape[0] + 1] += regularisation
    return QuadraticProgram(
        hessian, -(target @ matrix), bounds, mass_matrix, effort_range[0] - bias, effort_range[1] - bias
    )


class QpSolver:
    """Solves programs of one size, warm-started; see `solve`."""

    def __init__(self, size: int) -> None:
        """Reserve the solvers' memory."""
        self._size = size
        self._hard = _proxqp(size, size)
        self._soft = _proxqp(3 * size, 3 * size)
        self._hard_ready = False

    def solve(self, program: QuadraticProgram) -> QpSolution:
        """Find the accelerations; limits that exclude each other are softened in a stated order.

        First the position bounds give way, as little as possible, then the velocity bounds. Torque and torque rate
        never do: their range always has a solution, because M is invertible. A solver that fails gives the torque of
        the minimiser without constraints, cut to its range, with status FAILED.
        """
        bounds = program.bounds
        try:
            free = np.asarray(np.linalg.solve(program.hessian, -program.gradient), dtype=np.float64)
        except np.linalg.LinAlgError:
            free = np.zeros(self._size)
        torque = program.mass_matrix @ free
        lower = np.maximum(bounds.position_lower, bounds.velocity_lower)
        upper = np.minimum(bounds.position_upper, bounds.velocity_upper)
        if (
            (free >= lower).all()
            and (free <= upper).all()
            and (torque >= program.effort_lower).all()
            and (torque <= program.effort_upper).all()
        ):
            return QpSolution(free, torque, QpStatus.SOLVED)
        if not (np.isfinite(free).all() and np.isfinite(program.gradient).all()):
            return self._cut(program, np.zeros(self._size))
        if (lower <= upper).all():
            found = self._solve_hard(program, lower, upper)
            if found is not None:
                return QpSolution(found, program.mass_matrix @ found, QpStatus.SOLVED)
        for soften_velocity in (False, True):
            found = self._solve_soft(program, soften_velocity=soften_velocity)
            if found is not None:
                return QpSolution(found, program.mass_matrix @ found, QpStatus.SOFTENED)
        return self._cut(program, free)

    def _solve_hard(self, program: QuadraticProgram, lower: Array, upper: Array) -> Array | None:
        data = {
            "H": program.hessian,
            "g": program.gradient,
            "C": program.mass_matrix,
            "l": program.effort_lower,
            "u": program.effort_upper,
            "l_box": lower,
            "u_box": upper,
        }
        if self._hard_ready:
            self._hard.update(**data)
        else:
            self._hard.init(A=None, b=None, **data)
        self._hard.solve()
        self._hard_ready = _solved(self._hard)
        return np.array(self._hard.results.x) if self._hard_ready else None

    def _solve_soft(self, program: QuadraticProgram, *, soften_velocity: bool) -> Array | None:
        """Variables: accelerations, then how far they leave the position bounds, then the velocity bounds."""
        n, bounds = self._size, program.bounds
        scale = max(1.0, float(np.trace(program.hessian)) / n)
        hessian = np.zeros((3 * n, 3 * n))
        hessian[:n, :n] = program.hessian
        hessian.flat[n * (3 * n + 1) : 2 * n * (3 * n + 1) : 3 * n + 1] = _POSITION_PENALTY * scale
        hessian.flat[2 * n * (3 * n + 1) :: 3 * n + 1] = _VELOCITY_PENALTY * scale
        rows = np.zeros((3 * n, 3 * n))
        rows[:n, :n] = program.mass_matrix
        rows[n : 2 * n, :n] = rows[n : 2 * n, n : 2 * n] = np.eye(n)
        rows[2 * n :, :n] = rows[2 * n :, 2 * n :] = np.eye(n)
        reach = np.full(3 * n, 1e10)
        if not soften_velocity:
            reach[2 * n :] = 0.0
        self._soft.init(
            H=hessian,
            g=np.concatenate([program.gradient, np.zeros(2 * n)]),
            A=None,
            b=None,
            C=rows,
            l=np.concatenate([program.effort_lower, bounds.position_lower, bounds.velocity_lower]),
            u=np.concatenate([program.effort_upper, bounds.position_upper, bounds.velocity_upper]),
            l_box=-reach,
            u_box=reach,
        )
        self._soft.solve()
        return np.array(self._soft.results.x[:n]) if _solved(self._soft) else None

    def _cut(self, program: QuadraticProgram, free: Array) -> QpSolution:
        torque = np.clip(program.mass_matrix @ free, program.effort_lower, program.effort_upper)
        return QpSolution(np.asarray(np.linalg.solve(program.mass_matrix, torque)), torque, QpStatus.FAILED)


def _proxqp(variables: int, inequalities: int) -> proxsuite.proxqp.dense.QP:
    solver = proxsuite.proxqp.dense.QP(variables, 0, inequalities, True)
    solver.settings.eps_abs = _ACCURACY
    solver.settings.eps_rel = 0.0
    solver.settings.max_iter = 200
    solver.settings.compute_timings = False
    solver.settings.initial_guess = proxsuite.proxqp.InitialGuess.WARM_START_WITH_PREVIOUS_RESULT
    return solver


def _solved(solver: proxsuite.proxqp.dense.QP) -> bool:
    return bool(
        solver.results.info.status == proxsuite.proxqp.QPSolverOutput.PROXQP_SOLVED
        and np.isfinite(solver.results.x).all()
    )
