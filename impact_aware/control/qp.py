"""The controller's quadratic program: built by one function, solved by another (van Steen 2024, eqs. 27-31).

Solvers compared on 200 random programs of 7 and of 14 variables with active limits, microseconds per solve from Python
with all data changed (median, two shared cores), and how often no solution was found:

==================== ============ ============ ===========
solver               7 variables  14 variables failures
==================== ============ ============ ===========
quadprog             45           75           none
PIQP                 68           116          none
ProxQP, cold start   130          262          none
ProxQP, warm start   169          755          12 %, 46 %
==================== ============ ============ ===========

ProxQP's warm start is quick where nothing changes and fails where the active limits do, which is where they matter.
quadprog's licence (GPL) does not go with this project's. So PIQP is used, an interior-point method without memory of
the last cycle. Most of the time no limit is active, and then the minimiser without constraints is the solution: it is
tried first, at 2 / 4 us.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import piqp

from impact_aware.arrays import Array
from impact_aware.control import kernels
from impact_aware.control.constraints import AccelerationBounds
from impact_aware.control.tasks import AccelerationTask

_ACCURACY = 1e-8
_POSITION_PENALTY = 1e4
_VELOCITY_PENALTY = 1e6
_SLACK = 100.0


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
    tasks: Sequence[AccelerationTask],
    bounds: AccelerationBounds,
    mass_matrix: Array,
    effort_range: tuple[Array, Array],
    regularisation: float,
) -> QuadraticProgram:
    """Put the tasks' least-squares problems w ||J x - b||^2 and the limits together into one program.

    Args:
        tasks: Each about the joints of one arm.
        bounds: On the accelerations.
        mass_matrix: (n, n) M + B_theta of all arms, block diagonal.
        effort_range: Lowest and highest torque (n,) minus h of all arms, N m.
        regularisation: Added to the diagonal of the Hessian.
    """
    n = mass_matrix.shape[0]
    hessian, gradient = np.zeros((n, n)), np.zeros(n)
    hessian.flat[:: n + 1] = regularisation
    for jacobian, target, weight, joints in tasks:
        kernels.add_task(hessian, gradient, jacobian, target, weight, joints.start)
    return QuadraticProgram(hessian, gradient, bounds, mass_matrix, *effort_range)


class QpSolver:
    """Solves programs of one size; see `solve`."""

    def __init__(self, size: int) -> None:
        """Reserve the solver's memory."""
        self._size = size
        self._hard: piqp.DenseSolver | None = None
        self._factor = np.zeros((size, size))

    def solve(self, program: QuadraticProgram) -> QpSolution:
        """Find the accelerations; limits that exclude each other are softened in a stated order.

        First the position bounds give way, as little as possible, then the velocity bounds. Torque and torque rate
        never do: their range always has a solution, because M is invertible. A solver that fails gives the torque of
        the minimiser without constraints, cut to its range, with status FAILED.
        """
        bounds = program.bounds
        free, torque = np.empty(self._size), np.empty(self._size)
        if kernels.free_minimum(
            program.hessian,
            program.gradient,
            program.mass_matrix,
            bounds.position_lower,
            bounds.position_upper,
            bounds.velocity_lower,
            bounds.velocity_upper,
            program.effort_lower,
            program.effort_upper,
            self._factor,
            free,
            torque,
        ):
            return QpSolution(free, torque, QpStatus.SOLVED)
        lower = np.maximum(bounds.position_lower, bounds.velocity_lower)
        upper = np.minimum(bounds.position_upper, bounds.velocity_upper)
        if not (np.isfinite(free).all() and np.isfinite(program.gradient).all()):
            return self._cut(program, np.zeros(self._size))
        if (lower <= upper).all():
            found = self._solve_hard(program, lower, upper)
            if found is not None:
                return QpSolution(found, program.mass_matrix @ found, QpStatus.SOLVED)
        # Milder penalties are the last resort of states so wild that the stiff problem is out of the solver's reach.
        for soften_velocity, penalty in ((False, 1.0), (True, 1.0), (True, 1e-3)):
            found = self._solve_soft(program, penalty, soften_velocity=soften_velocity)
            if found is not None:
                return QpSolution(found, program.mass_matrix @ found, QpStatus.SOFTENED)
        return self._cut(program, free)

    def _solve_hard(self, program: QuadraticProgram, lower: Array, upper: Array) -> Array | None:
        hessian, gradient, inertia = program.hessian, program.gradient, program.mass_matrix
        effort = program.effort_lower, program.effort_upper
        if self._hard is None:
            self._hard = _solver()
            self._hard.setup(hessian, gradient, None, None, inertia, *effort, lower, upper)
        else:
            low, high = effort
            self._hard.update(P=hessian, c=gradient, G=inertia, h_l=low, h_u=high, x_l=lower, x_u=upper)
        return _solution(self._hard, self._size)

    def _solve_soft(self, program: QuadraticProgram, penalty: float, *, soften_velocity: bool) -> Array | None:
        """Variables: place in the torque range, -1..1; how far position and, when allowed, velocity bounds are left.

        In these variables what never gives way is a box, and everything stays of moderate size whatever the state.
        """
        n, bounds = self._size, program.bounds
        middle = 0.5 * (program.effort_upper + program.effort_lower)
        inverse = np.linalg.inv(program.mass_matrix)
        offset = inverse @ middle
        spread = inverse * (0.5 * (program.effort_upper - program.effort_lower))
        kinds = 2 if soften_velocity else 1
        scale = penalty * max(1.0, float(np.trace(program.hessian)) / n) * _SLACK**2
        size = (1 + kinds) * n
        hessian = np.zeros((size, size))
        hessian[:n, :n] = spread.T @ program.hessian @ spread
        hessian.flat[n * (size + 1) :: size + 1] = np.repeat([_POSITION_PENALTY, _VELOCITY_PENALTY][:kinds], n) * scale
        gradient = np.zeros(size)
        gradient[:n] = spread.T @ (program.hessian @ offset + program.gradient)
        rows = np.zeros((2 * n, size))
        rows[:n, :n] = rows[n:, :n] = spread
        rows[:n, n : 2 * n] = _SLACK * np.eye(n)
        if soften_velocity:
            rows[n:, 2 * n :] = _SLACK * np.eye(n)
        shift = np.concatenate([offset, offset])
        reach = np.concatenate([np.ones(n), np.full(kinds * n, np.inf)])
        size_of_cost = max(float(np.abs(gradient).max()), float(np.abs(hessian[:n, :n]).max()), 1e-12)
        solver = _solver()
        solver.setup(
            hessian / size_of_cost,
            gradient / size_of_cost,
            None,
            None,
            rows,
            np.concatenate([bounds.position_lower, bounds.velocity_lower]) - shift,
            np.concatenate([bounds.position_upper, bounds.velocity_upper]) - shift,
            -reach,
            reach,
        )
        found = _solution(solver, n)
        return None if found is None else offset + spread @ np.clip(found, -1.0, 1.0)

    def _cut(self, program: QuadraticProgram, free: Array) -> QpSolution:
        torque = np.clip(program.mass_matrix @ free, program.effort_lower, program.effort_upper)
        return QpSolution(np.asarray(np.linalg.solve(program.mass_matrix, torque)), torque, QpStatus.FAILED)


def _solver() -> piqp.DenseSolver:
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = _ACCURACY
    solver.settings.eps_rel = _ACCURACY
    solver.settings.compute_timings = False
    return solver


def _solution(solver: piqp.DenseSolver, size: int) -> Array | None:
    if solver.solve() != piqp.PIQP_SOLVED:
        return None
    found = np.array(solver.result.x[:size])
    return found if np.isfinite(found).all() else None
