"""The controller's quadratic program: built by one class, solved by another (van Steen 2024, eqs. 27-31)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import active_set, kernels
from impact_aware.control.tasks import AccelerationTask

STEPS_PER_JOINT = 20
"""Steps of the active-set method for each joint of a block after which it is stopped."""


class QpStatus(enum.IntEnum):
    """How a quadratic program ended."""

    SOLVED = 0
    SOFTENED = 1
    FAILED = 2
    CUT = 3


_ENDS = {
    active_set.SOLVED: QpStatus.SOLVED,
    active_set.SOFTENED: QpStatus.SOFTENED,
    active_set.CUT: QpStatus.CUT,
    active_set.FAILED: QpStatus.FAILED,
}


class QuadraticProgram(NamedTuple):
    """min 1/2 x'Hx + g'x over joint accelerations x (n,), within bounds on x and on the torques M x."""

    hessian: Array  # (n, n)
    gradient: Array  # (n,)
    mass_matrix: Array  # (n, n)
    limits: Array  # (6, n) lower, upper: of x for positions, of x for velocities, of M x


class QpSolution(NamedTuple):
    """Joint accelerations (n,), rad/s^2, M x (n,), N m, and how they were found."""

    acceleration: Array
    inertia_torque: Array
    status: QpStatus


class ProgramBuilder:
    """Puts tasks and limits together into one program."""

    def __init__(self, size: int, regularisation: float) -> None:
        """Reserve memory for `size` variables; the regularisation is added to the diagonal of every Hessian."""
        self._hessian, self._gradient = np.empty((size, size)), np.empty(size)
        self._regularisation = regularisation

    def build(self, tasks: Sequence[AccelerationTask], limits: Array, mass_matrix: Array) -> QuadraticProgram:
        """Sum up the tasks' least-squares problems w ||J x - b||^2; the next program is made in the same memory.

        Args:
            tasks: Each about the joints of one arm.
            limits: (6, n) As `QuadraticProgram` has them.
            mass_matrix: (n, n) M + B_theta of all arms, block diagonal.
        """
        hessian, gradient = self._hessian, self._gradient
        kernels.begin_program(hessian, gradient, self._regularisation)
        for jacobian, target, weight, joints in tasks:
            kernels.add_task(hessian, gradient, jacobian, target, weight, joints.start)
        return QuadraticProgram(hessian, gradient, mass_matrix, limits)


class QpSolver:
    """Solves programs of one size; see `solve`.

    Attributes:
        active: Number of bounds that were active in the last program.
        steps: Steps that its longest block took.
    """

    def __init__(self, sizes: Sequence[int], most_steps: int | None = None) -> None:
        """Reserve the solver's memory.

        Args:
            sizes: Numbers of variables of the blocks of H and M on their diagonals: each is a program of its own.
            most_steps: Steps of the active-set method for a block; `STEPS_PER_JOINT` for each variable when None.
        """
        largest = max(sizes)
        self._size = sum(sizes)
        self._sizes: Any = np.array(sizes, dtype=np.int64)
        self._most = STEPS_PER_JOINT * largest if most_steps is None else most_steps
        self._room = np.zeros((6 * largest + 10, 3 * largest))
        self._active: Any = np.zeros((len(sizes), 3 * largest), dtype=np.int64)
        self.active = self.steps = 0

    def solve(self, program: QuadraticProgram) -> QpSolution:
        """Find the accelerations; limits that exclude each other are softened in a stated order.

        First the position bounds give way, as little as possible, then the velocity bounds. Torque and torque rate
        never do: their range always has a solution, because M is invertible. A method that is out of steps gives the
        torque it has come to, cut to its range, with status CUT, and its acceleration; numbers that are not finite give
        the torque next to zero with status FAILED.
        """
        acceleration, torque = np.empty(self._size), np.empty(self._size)
        end, self.active, self.steps = active_set.solve(
            *program, self._sizes, self._most, self._room, self._active, acceleration, torque
        )
        return QpSolution(acceleration, torque, _ENDS[end])

    def active_rows(self, block: int) -> list[tuple[int, int]]:
        """The bounds that were active at the last minimum of a block: row of `QuadraticProgram.limits`, and variable.

        Args:
            block: Which; its variables are counted from its own first one.
        """
        size = int(self._sizes[block])
        found = [int(row) for row in self._active[block] if row != 0]
        return [(2 * ((abs(row) - 1) // size) + (row < 0), (abs(row) - 1) % size) for row in found]
