"""Relay of torques to a driver that holds the last one for ever; when commands end, the relay brakes the arm.

The relay stands between `rs_controller` and such a driver and answers each state of the arm with a torque in the arm's
own convention, within its limits: the newest command, or, when commands have ended, the torque of `braking`.
Before the first command it is the gravity torque, which is no torque at all for an arm that adds that itself.
"""

from __future__ import annotations

from collections.abc import Callable

from impact_aware.arrays import Array
from impact_aware.control.braking import Braking
from impact_aware.control.command_watch import effort_refusal
from impact_aware.control.parameters import ControlParameters
from impact_aware.control.safety.command_filter import CommandFilter
from impact_aware.robot import RobotModel


class EffortRelay:
    """Between the commands of one arm and its driver.

    Attributes:
        leads: Whether the newest command is passed on.
        reason: Why none is, in words; empty before the first one, and while one is.
        filter: Keeps what is sent within the torque limits and the torque rate.
    """

    def __init__(
        self, robot: RobotModel, timeout: float, period: float, clock: Callable[[], float] | None = None
    ) -> None:
        """Nothing was commanded yet.

        Args:
            robot: The arm, with gravity as its base has it.
            timeout: Time without a command after which the arm brakes, s.
            period: Time between two states, s.
            clock: Present time in which the torque rate holds, s; None for none.
        """
        self._robot, self._timeout = robot, timeout
        self._braking = Braking(robot, ControlParameters(), period)
        self.filter = CommandFilter([robot], period, clock=clock)
        self._command: Array | None = None
        self._since = 0.0
        self.leads, self.reason = False, ""

    def receive(self, command: Array, now: float) -> None:
        """A command (m,) has come, N m; `now` is of a steady clock, s. One that is none ends what was passed on."""
        refusal = effort_refusal(command, self._robot.limits.effort)
        self._command, self._since = (None if refusal else command), now
        self.leads, self.reason = not refusal, f"a command that is none: {refusal}" if refusal else ""

    def take_over(self, before: EffortRelay) -> None:
        """Go on in place of a relay that passes nothing on, from the torque that it sent last."""
        self.reason = before.reason
        self.filter.restart(before.filter.previous)

    def passes_on(self, now: float) -> bool:
        """Whether the newest command is still passed on at `now`, s of the clock of `receive`."""
        if self.leads and now - self._since > self._timeout:
            self.leads, self._command = False, None
            self.reason = f"no command for {1e3 * (now - self._since):.0f} ms"
        return self.leads

    @property
    def holds(self) -> bool:
        """Whether no command is passed on, and the arm was at rest at the last state."""
        return self._command is None and self._braking.at_rest

    def answer(self, q: Array, dq: Array, now: float) -> Array:
        """What is sent for a state of the arm (n,), N m.

        Args:
            q: (n,) rad.
            dq: (n,) rad/s.
            now: Of the clock of `receive`, s.
        """
        self.passes_on(now)
        robot = self._robot
        gravity = robot.gravity(q)
        if not self.filter.begun:
            self.filter.begin(gravity)
        if self._command is not None:
            self._braking.begin()
            wanted = self._command + float(robot.adds_gravity) * gravity
        elif not self.reason:
            wanted = gravity
        else:
            mass_matrix = robot.mass_matrix(q)
            wanted = robot.bias(q, dq) + mass_matrix @ self._braking.acceleration(now, q, dq, mass_matrix)
        self.filter.apply(wanted, gravity)
        return self.filter.previous
