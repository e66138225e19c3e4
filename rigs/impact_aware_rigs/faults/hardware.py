"""What is between the controller and the arms of a trial: forward controllers, or followers of laws."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import ControlSession
from impact_aware.control.local_law import LawFollower, LawSource
from impact_aware.errors import InvalidInputError
from impact_aware.simulation.sensors import JointReading
from impact_aware_rigs.emulators.controllers import ForwardCommandController
from impact_aware_rigs.faults.bench import FaultBench
from impact_aware_rigs.faults.checks import CommandCheck

COMMAND_TIMEOUT = 0.1  # of sim_robot: without commands the robot brakes, s

Lost = Callable[[int], bool]


class Hardware:
    """Emulated hardware of all arms together, which checks the commands that it receives.

    Attributes:
        now: Present time, s; kept by the trial.
    """

    def __init__(self, bench: FaultBench, check: CommandCheck, lost: Lost, start: float) -> None:
        """Start without a command.

        Args:
            bench: The arms.
            check: Check of the commands.
            lost: Whether a message to an arm, by its number, is lost; called once for each.
            start: Time of the first state, s.
        """
        self.now = start
        self._check, self._lost, self._start = check, lost, start
        ends = np.cumsum([robot.n for robot in bench.robots])
        self._parts = [slice(end - robot.n, end) for end, robot in zip(ends, bench.robots, strict=True)]

    def take(self, session: ControlSession, sent: Array) -> None:
        """The session sends torques (n,), N m."""

    def follow(self, session: ControlSession) -> None:
        """The session has answered a state, or its watchdog has looked."""

    def torque(self, q: Array, reading: JointReading) -> Array | None:
        """What drives the arms at the positions (n,) they have, rad, N m; None when they hold or brake themselves."""
        raise NotImplementedError


class EffortHardware(Hardware):
    """An emulated forward controller for each arm."""

    def __init__(self, bench: FaultBench, check: CommandCheck, lost: Lost, start: float) -> None:
        """See `Hardware`."""
        super().__init__(bench, check, lost, start)
        self._controllers = [ForwardCommandController(robot.n) for robot in bench.robots]
        for controller in self._controllers:
            controller.switch(True)
        self._robots = bench.robots
        self._last = -math.inf

    def take(self, session: ControlSession, sent: Array) -> None:
        """A message to each controller."""
        self._check.take(sent, session.filter.effort, self.now - self._start)
        self._last = self.now
        for arm, (controller, part) in enumerate(zip(self._controllers, self._parts, strict=True)):
            if not self._lost(arm):
                controller.receive(sent[part].tolist())

    def torque(self, q: Array, reading: JointReading) -> Array | None:
        """What the controllers write."""
        written = [controller.update() for controller in self._controllers]
        if self.now - self._last > COMMAND_TIMEOUT or any(command is None for command in written):
            return None
        commands = np.concatenate([command for command in written if command is not None])
        arms = zip(self._robots, self._parts, strict=True)
        return commands + np.concatenate([float(robot.adds_gravity) * robot.gravity(q[part]) for robot, part in arms])


class LawHardware(Hardware):
    """A follower of the laws of each arm; the torque that it applies is checked in every cycle."""

    def __init__(self, bench: FaultBench, check: CommandCheck, lost: Lost, start: float) -> None:
        """See `Hardware`."""
        super().__init__(bench, check, lost, start)
        self._followers = [LawFollower(robot) for robot in bench.robots]
        self._session: ControlSession | None = None

    def follow(self, session: ControlSession) -> None:
        """Laws, when they are due; those of a controller that was started anew count anew."""
        if not session.active or session.command is None:
            return
        if session is not self._session:
            self._session, self._source = session, LawSource(session)
        for arm, law in enumerate(self._source.laws()):
            if self._lost(arm):
                continue
            # As a driver does: a law that is none is dropped, the last one stays.
            with contextlib.suppress(InvalidInputError):
                self._followers[arm].receive(law)

    def torque(self, q: Array, reading: JointReading) -> Array | None:
        """What the followers apply."""
        if any(follower.law is None for follower in self._followers):
            return None
        own = zip(self._followers, self._parts, strict=True)
        whole = np.concatenate([follower.apply(reading.q[part], reading.dq[part], self.now) for follower, part in own])
        sent = np.concatenate([follower.filter.previous for follower in self._followers])
        self._check.take(sent, whole, self.now - self._start)
        return whole


HARDWARE: dict[str, type[Hardware]] = {"effort": EffortHardware, "local_law": LawHardware}
"""By the controller's command interface."""
