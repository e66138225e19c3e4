"""The last word on torque: finite, within the torque limit and the torque-rate limit, in the arm's own convention.

Controllers work with whole joint torques. Arms such as Franka's add the gravity torque themselves, so that what is sent
to them is the torque without gravity: u = tau - c g(q), with c = 1 for the joints of such arms and 0 elsewhere. Limits
hold for what is sent, and the torque limit for the whole torque as well:

    |u| <= limit,   |u - u_previous| <= rate * period,   |u + c g| <= limit.

Where gravity has moved so far that the last one excludes the others, the others hold.

The rate holds between any two commands, by the clock in whose time the arm moves: one that follows another after less
than a period is allowed that share of the step. For an arm of steel this is a clock of this machine, as answers to a
backlog of states come at once and stamps may run fast; in lockstep it is the stamps.

A command that the driver never got is no step that was taken: where it reports what it applied last, the rate counts
from that, and a cycle that was missed allows no larger step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from impact_aware.arrays import Array
from impact_aware.compiled import FLAG_AND_INDEX, NOTHING, NUMBER, PAIR, VECTOR, WRITTEN_VECTOR, compiled
from impact_aware.control.command import SafeReason, Violation
from impact_aware.robot import RobotModel
from impact_aware.robot.safety_limits import SafetyLimits

WHOLE = 1.0 - 1e-5
"""Share of a period that counts as a whole one: stamps are rounded to 1 ns, and sums of some s to less."""

TOLERANCE = 1e-3
"""Change of a torque that does not count as an intervention: the solver's accuracy, N m."""


class CommandFilter:
    """Turns wanted whole torques into the command that is sent; the only memory of the previous command.

    Attributes:
        previous: (n,) The last command as it was sent, N m; the torque that holds the arms before the first one.
        effort: (n,) The same as whole torques, N m.
        interventions: Commands that were changed by more than `TOLERANCE`.
    """

    def __init__(
        self,
        robots: Sequence[RobotModel],
        period: float = 0.001,
        limits: Sequence[SafetyLimits] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Join the limits of all arms, arm after arm.

        Args:
            robots: One per arm; their profiles say whether commands include gravity.
            period: Time between two commands, s.
            limits: Torque and torque-rate limits of each arm; those of the profiles when None.
            clock: Present time in which the torque rate holds, s; None where the arm's driver makes each cycle.

        Raises:
            InvalidInputError: Limits that are not one per arm.
        """
        limits = SafetyLimits.each(robots, limits)
        self._names = [name for robot in robots for name in robot.joint_names]
        self._limit = np.concatenate([np.asarray(entry.effort, dtype=float) for entry in limits])
        self._step = np.concatenate([np.asarray(entry.effort_rate, dtype=float) for entry in limits]) * period
        self._period, self._clock, self._sent = period, clock, -math.inf  # s; of the last command by the clock
        self._carried = np.repeat([float(robot.adds_gravity) for robot in robots], [robot.n for robot in robots])
        self._range = np.empty_like(self._limit), np.empty_like(self._limit)
        self.previous = np.zeros_like(self._limit)
        self.effort = np.zeros_like(self._limit)
        self.interventions = 0
        self.begun = False

    def begin(self, gravity: Array) -> None:
        """Start from the command that the arms hold themselves with: their gravity torque (n,), N m."""
        finite = np.where(np.isfinite(gravity), gravity, 0.0)
        self.restart(finite - self._carried * finite)
        self.effort = self.previous + self._carried * finite

    def restart(self, command: Array) -> None:
        """Start from a command (n,) that the arms are already given, N m."""
        self.previous = np.clip(command, -self._limit, self._limit)
        self.begun = True

    def count_from(self, applied: Array | None) -> None:
        """Count the torque rate of the next command from what the arms' driver reports as applied last.

        Args:
            applied: (n,) In the convention of what is sent, such as libfranka's tau_J_d, N m. The last command counts
                where it is not finite, or for None or another shape.
        """
        if applied is not None and applied.shape == self.previous.shape:
            # A new array: the receiver of the last command keeps that one.
            command = np.empty_like(self.previous)
            applied_command(self.previous, applied, self._limit, command)
            self.previous, self.begun = command, True

    def take_as_added(self, joints: slice, share: float) -> None:
        """Command these joints from now on as if their arm added this share of gravity: 1, 0, or 0.5 if not known."""
        self._carried[joints] = share

    def range(self, gravity: Array) -> tuple[Array, Array]:
        """Lowest and highest whole torque (n,) that passes unchanged now, N m; the next call overwrites them.

        Args:
            gravity: (n,) Gravity torque at the present posture, N m.
        """
        torque_range(self.previous, self._limit, self._allowed()[0], self._carried, gravity, *self._range)
        return self._range

    def apply(self, wanted: Array, gravity: Array, *, report: bool = False) -> Violation | None:
        """Set `previous` and `effort` to the nearest command within all limits.

        Args:
            wanted: (n,) Whole torque, N m; an entry that is not finite keeps its last command.
            gravity: (n,) Gravity torque at the present posture, N m.
            report: Whether the torque should have been within the limits: one that is beyond them by more than a
                whole step of the torque rate is then reported.

        Returns:
            What was wrong with the wanted torque, or None.
        """
        # New arrays each time: the receiver of the last command keeps that one.
        command, effort, (allowed, self._sent) = np.empty(wanted.size), np.empty(wanted.size), self._allowed()
        changed, row = filter_command(
            wanted, self.previous, self._limit, allowed, self._carried, gravity, TOLERANCE, command, effort
        )
        self.interventions += changed
        before, self.previous, self.effort = self.previous, command, effort
        return self._explain(row, wanted, gravity, before, allowed) if report and row >= 0 else None

    def _allowed(self) -> tuple[Array, float]:
        """Largest change (n,) of what is sent now, N m, and the present time, s."""
        if self._clock is None:
            return self._step, 0.0
        now = self._clock()
        share = (now - self._sent) / self._period
        return self._step if share > WHOLE else max(0.0, share) * self._step, now  # 0 for NaN

    def _explain(self, joint: int, wanted: Array, gravity: Array, before: Array, allowed: Array) -> Violation:
        name, value = self._names[joint], wanted[joint] - self._carried[joint] * gravity[joint]
        if not np.isfinite(value):
            return Violation(SafeReason.NON_FINITE, f"the torque of {name} was to be {value}")
        if abs(value) > self._limit[joint]:
            sentence = f"{name} was to get {value:.4g} N m, not up to {self._limit[joint]:.4g}"
            return Violation(SafeReason.TORQUE_LIMIT, sentence)
        change, step = abs(value - before[joint]), allowed[joint]
        sentence = f"the torque of {name} was to change by {change:.4g} N m at once, not by up to {step:.4g}"
        return Violation(SafeReason.TORQUE_RATE_LIMIT, sentence)


@compiled(PAIR, NUMBER, NUMBER, NUMBER, NUMBER)
def passing(previous: float, limit: float, step: float, added: float) -> tuple[float, float]:
    """Lowest and highest whole torque of one joint that `command_filter` lets pass, N m; `added` by the arm itself."""
    low = max(previous - step, -limit) + added
    high = min(previous + step, limit) + added
    # The limits of what is sent win where gravity keeps the whole torque beyond its own.
    return min(max(low, -limit), high), max(min(high, limit), low)


@compiled(NOTHING, VECTOR, VECTOR, VECTOR, WRITTEN_VECTOR)
def applied_command(previous: Array, applied: Array, limit: Array, command: Array) -> None:
    """Command from which the torque rate counts, as `count_from` takes it; all (n,), N m, `command` is written to."""
    for i in range(limit.size):
        value = applied[i] if math.isfinite(applied[i]) else previous[i]
        command[i] = min(max(value, -limit[i]), limit[i])


@compiled(NOTHING, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, WRITTEN_VECTOR, WRITTEN_VECTOR)
def torque_range(
    previous: Array, limit: Array, step: Array, carried: Array, gravity: Array, lower: Array, upper: Array
) -> None:
    """Lowest and highest whole torque that `command_filter` lets pass.

    Args:
        previous: (n,) The last command as it was sent, N m.
        limit: (n,) Largest torque, N m.
        step: (n,) Largest change of what is sent, N m.
        carried: (n,) 1 where the arm adds the gravity torque itself, else 0.
        gravity: (n,) N m.
        lower: (n,) Written to, N m.
        upper: (n,) Written to, N m.
    """
    for i in range(limit.size):
        lower[i], upper[i] = passing(previous[i], limit[i], step[i], carried[i] * gravity[i])


@compiled(FLAG_AND_INDEX, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, NUMBER, WRITTEN_VECTOR, WRITTEN_VECTOR)
def filter_command(
    wanted: Array,
    previous: Array,
    limit: Array,
    step: Array,
    carried: Array,
    gravity: Array,
    tolerance: float,
    command: Array,
    effort: Array,
) -> tuple[bool, int]:
    """The nearest torque that passes, and how far the wanted one was outside.

    Args:
        wanted: (n,) Whole torque, N m; an entry that is not finite keeps its last command.
        previous: (n,) The last command as it was sent, N m.
        limit: (n,) Largest torque, N m.
        step: (n,) Largest change of what is sent, N m.
        carried: (n,) 1 where the arm adds the gravity torque itself, else 0.
        gravity: (n,) N m.
        tolerance: Change that does not count, N m.
        command: (n,) What is sent, written to, N m.
        effort: (n,) The same as whole torque, written to, N m.

    Returns:
        Whether a torque was changed by more than the tolerance; the first joint whose torque was outside by more than
        a step, or -1.
    """
    changed, gross = False, -1
    for i in range(wanted.size):
        added = carried[i] * gravity[i]
        lower, upper = passing(previous[i], limit[i], step[i], added)
        value = wanted[i] if math.isfinite(wanted[i]) else previous[i] + added
        value = min(max(value, lower), upper)
        effort[i] = value
        command[i] = value - added
        excess = abs(value - wanted[i])
        changed |= not excess <= tolerance
        if gross < 0 and not excess <= step[i]:
            gross = i
    return changed, gross
