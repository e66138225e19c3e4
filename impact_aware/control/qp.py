"""The quadratic program of a cycle: tasks and limits put together, solved, and how it ended (van Steen 2024, 27-31)."""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.compiled import INDEX, MATRIX, NOTHING, NUMBER, VECTOR, WRITTEN_MATRIX, WRITTEN_VECTOR, compiled
from impact_aware.control import active_set
from impact_aware.robot import JointLimits

STEPS_PER_JOINT = 20
"""Steps of the active-set method for each joint of a block after which it is stopped."""

SLOPE_STEP = 1e-7
"""Step of the differences of the bounds by a joint's state, rad and rad/s."""

TIME_BUDGET = 0.6e-3
"""A cycle of one millisecond should leave the rest to states and commands on their ways, s."""

SMALL = 1e-9
"""Keeps a division by zero out where the numerator is zero as well."""


class QpStatus(enum.IntEnum):
    """How a quadratic program ended."""

    SOLVED = 0
    SOFTENED = 1
    FAILED = 2
    CUT = 3


_ENDS = QpStatus.SOLVED, QpStatus.SOFTENED, QpStatus.CUT, QpStatus.FAILED
"""By the numbers of `active_set`, the worst last."""


class AccelerationTask(NamedTuple):
    """Wants `jacobian @ ddq[joints] = target`, with the cost `weight ||jacobian @ ddq[joints] - target||^2`."""

    jacobian: Array  # (k, n)
    target: Array  # (k,)
    weight: float
    joints: slice  # columns of this arm


class Regime(enum.StrEnum):
    """Quadratic programs by what is active at their minimum."""

    NO_PROGRAM = "no program"
    INACTIVE = "no limit active"
    ONE_ACTIVE = "one limit active"
    MANY_ACTIVE = "many limits active"
    EXCLUDING = "limits exclude each other"
    CUT = "out of steps"
    NOT_FINITE = "numbers that are not finite"

    @classmethod
    def of(cls, status: QpStatus, active: int) -> Regime:
        """The regime of a program that ended so, with this number of active bounds."""
        if status is QpStatus.SOLVED:
            return (cls.INACTIVE, cls.ONE_ACTIVE)[active] if active < 2 else cls.MANY_ACTIVE
        return {QpStatus.SOFTENED: cls.EXCLUDING, QpStatus.CUT: cls.CUT}.get(status, cls.NOT_FINITE)


class TimeBudget:
    """Counts the cycles that take longer than `TIME_BUDGET`.

    Attributes:
        over: Such cycles, by mode and regime in words.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.over = Counter[str]()

    def note(self, duration: float, mode: str, regime: Regime) -> None:
        """Count a cycle that took `duration`, s."""
        if duration > TIME_BUDGET:
            self.over[f"{mode}, {regime}"] += 1


@compiled(NOTHING, WRITTEN_MATRIX, WRITTEN_VECTOR, NUMBER)
def begin_program(hessian: Array, gradient: Array, regularisation: float) -> None:
    """Set H (n, n) to the regularisation on its diagonal and g (n,) to zero."""
    for i in range(gradient.size):
        gradient[i] = 0.0
        for j in range(gradient.size):
            hessian[i, j] = 0.0
        hessian[i, i] = regularisation


@compiled(NOTHING, WRITTEN_MATRIX, WRITTEN_VECTOR, MATRIX, VECTOR, NUMBER, INDEX)
def add_task(hessian: Array, gradient: Array, jacobian: Array, target: Array, weight: float, first: int) -> None:
    """Add the cost weight/2 ||J x - b||^2 of one task to 1/2 x'Hx + g'x.

    Args:
        hessian: (n, n) H, added to.
        gradient: (n,) g, added to.
        jacobian: (k, m) J, of one arm.
        target: (k,) b.
        weight: Weight of the task.
        first: Index of the arm's first joint.
    """
    rows, columns = jacobian.shape
    for i in range(columns):
        total = 0.0
        for row in range(rows):
            total += jacobian[row, i] * target[row]
        gradient[first + i] -= weight * total
        for j in range(i + 1):
            total = 0.0
            for row in range(rows):
                total += jacobian[row, i] * jacobian[row, j]
            total *= weight
            hessian[first + i, first + j] += total
            if j != i:
                hessian[first + j, first + i] += total


@compiled(NOTHING, VECTOR, VECTOR, MATRIX, NUMBER, NUMBER, NUMBER, VECTOR, VECTOR, VECTOR, WRITTEN_MATRIX)
def program_limits(
    q: Array,
    dq: Array,
    joints: Array,
    period: float,
    braking: float,
    rate: float,
    bias: Array,
    lowest: Array,
    highest: Array,
    limits: Array,
) -> None:
    """Bounds on joint accelerations and torques for the next period, as `LimitBounds` explains them.

    Args:
        q: (n,) rad.
        dq: (n,) rad/s.
        joints: (3, n) Lower and upper position limits, rad, and velocity limits, rad/s.
        period: s.
        braking: Deceleration towards a position limit, rad/s^2.
        rate: Share of what is left to a velocity limit that may be used up per time, 1/s.
        bias: (n,) h, N m.
        lowest: (n,) Lowest torque, N m.
        highest: (n,) Highest torque, N m.
        limits: (6, n) Written to: lower and upper bound for positions and for velocities, rad/s^2, and on the torque
            minus h, N m.
    """
    for i in range(joints.shape[1]):
        for side in range(2):
            speed = dq[i] if side else -dq[i]
            left = joints[1, i] - q[i] if side else q[i] - joints[0, i]
            # Along the curve sqrt(2 a d) the deceleration is a; towards it the velocity horizon applies.
            allowed = math.sqrt(2.0 * braking * max(left, 0.0))
            share = min(max(speed / (allowed + SMALL), 0.0), 1.0)
            ahead = 2.0 / (period * period) * (left - period * speed)
            position = max(min(ahead, (allowed - speed) * rate - braking * share), -2.0 * braking)
            velocity = max((joints[2, i] - speed) * rate, -2.0 * braking)
            limits[side, i] = position if side else -position
            limits[2 + side, i] = velocity if side else -velocity
        limits[4, i] = lowest[i] - bias[i]
        limits[5, i] = highest[i] - bias[i]


class LimitBounds:
    """Turns joint limits into bounds for the next period, for all arms together.

    One step of look-ahead, as (29) has it, notices a position limit when it is too late to stop. So the velocity is
    also kept below sqrt(2 a d), from which the joint can stop within its distance d to the limit with deceleration a.
    Likewise (30) alone lets a joint run into a velocity limit faster than the torque rate can take its acceleration
    away, so what is left to either may be used up over a horizon of several periods only. No bound needs more than
    twice the deceleration a: a state beyond a limit is brought back, not thrown back.
    """

    def __init__(
        self,
        limits: Sequence[JointLimits],
        period: float,
        braking_acceleration: float,
        velocity_horizon: float = 0.02,
    ) -> None:
        """Keep the limits of all arms in one row each.

        Args:
            limits: Of each arm.
            period: Control period, s.
            braking_acceleration: a, rad/s^2.
            velocity_horizon: s; at least one period is taken, which is (30) itself.
        """
        self._joints = np.array(
            [
                np.concatenate([entry.position_lower for entry in limits]),
                np.concatenate([entry.position_upper for entry in limits]),
                np.concatenate([entry.velocity for entry in limits]),
            ]
        )
        effort = np.concatenate([entry.effort for entry in limits])
        self._effort = -effort, effort
        self._settings = period, braking_acceleration, 1.0 / max(velocity_horizon, period)
        self._limits = np.empty((6, effort.size))

    def limits(self, q: Array, dq: Array, bias: Array, torque_range: tuple[Array, Array] | None = None) -> Array:
        """Bounds (6, n) of the next period's program; the next call overwrites them.

        Args:
            q: (n,) Joint positions, rad.
            dq: (n,) Joint velocities, rad/s.
            bias: (n,) h, N m.
            torque_range: Lowest and highest torque (n,) that can be sent, N m; the torque limits when None.

        Returns:
            Lower and upper bound on accelerations, rad/s^2, for positions (29) with the braking distance, then for
            velocities (30), then lowest and highest torque minus h (31), N m.
        """
        lowest, highest = self._effort if torque_range is None else torque_range
        program_limits(q, dq, self._joints, *self._settings, bias, lowest, highest, self._limits)
        return self._limits

    def slopes(self, q: Array, dq: Array) -> tuple[Array, Array]:
        """How the bounds for positions and velocities change with their own joint's state, by central differences.

        Returns:
            (4, n) By position, 1/s^2, and by velocity, 1/s.
        """
        changes = []
        for moved in ((SLOPE_STEP, 0.0), (0.0, SLOPE_STEP)):
            ends = np.empty((2, 6, q.size))
            for end, sign in zip(ends, (1.0, -1.0), strict=True):
                state = q + sign * moved[0], dq + sign * moved[1]
                program_limits(*state, self._joints, *self._settings, q, *self._effort, end)
            changes.append((ends[0, :4] - ends[1, :4]) / (2.0 * SLOPE_STEP))
        return changes[0], changes[1]


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
        begin_program(hessian, gradient, self._regularisation)
        for jacobian, target, weight, joints in tasks:
            add_task(hessian, gradient, jacobian, target, weight, joints.start)
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
