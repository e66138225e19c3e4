"""What lies between a session and the arms: torques or laws on their way, late or lost, and who applies them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import Command, ControlSession
from impact_aware.control.local_law import DEFAULT_VALIDITY, LawFollower, LawSource, LocalLaw
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.robot.profile import SIMULATED_INTERFACES


@dataclass(frozen=True)
class LinkSettings:
    """How commands come to the arms.

    Attributes:
        interface: One of `SIMULATED_INTERFACES`.
        rate: Of the laws, Hz; torques answer every state.
        delay: From the session's answer until the arm has it, s.
        loss: Share of messages that never arrive.
        validity: Of the laws, s.
    """

    interface: str = "effort"
    rate: float = 250.0
    delay: float = 0.0
    loss: float = 0.0
    validity: float = DEFAULT_VALIDITY

    def __post_init__(self) -> None:
        """Check them.

        Raises:
            UnknownNameError: No interface of that name.
            InvalidInputError: A delay or loss out of range.
        """
        if self.interface not in SIMULATED_INTERFACES:
            raise UnknownNameError("command_interface", self.interface, SIMULATED_INTERFACES)
        if not 0.0 <= self.delay <= 1.0:
            raise InvalidInputError("delay", self.delay, "0..1 s")
        if not 0.0 <= self.loss < 1.0:
            raise InvalidInputError("loss", self.loss, "a share 0..1, less than 1")


class CommandLink:
    """Carries the commands of one session to the arms of one plant.

    Attributes:
        largest_step: Largest change of an applied torque from one cycle to the next, N m.
        unled: Cycles in which an arm had a law before and none that was valid.
        sent: Messages that were sent.
        lost: Those that never arrived.
    """

    def __init__(self, settings: LinkSettings, seed: int = 0) -> None:
        """Carry nothing yet; the seed is that of the losses."""
        self._settings, self._generator = settings, np.random.default_rng([seed, 17])
        self._session: ControlSession | None = None
        self._held: Array | None = None
        self._applied: Array | None = None
        self._under_way: deque[tuple[float, int, Array | LocalLaw]] = deque()
        self.largest_step = 0.0
        self.unled = self.sent = self.lost = 0

    def begin(self, session: ControlSession) -> None:
        """Carry this session's commands; laws are applied within the limits of the session's arms."""
        settings, self._session = self._settings, session
        self._source = LawSource(session, settings.rate, settings.validity)
        own = session.parameters
        self._followers = [LawFollower(robot, own.period, parameters=own) for robot in session.robots]
        ends = np.cumsum([robot.n for robot in session.robots])
        self._parts = [slice(end - robot.n, end) for end, robot in zip(ends, session.robots, strict=True)]

    def carry(self, session: ControlSession, time: float, q: Array, dq: Array) -> Array | None:
        """Send what the session has just answered, and say which torques the arms get now; see `torque`."""
        if session is not self._session:
            self.begin(session)
        assert session.command is not None
        self.send(session.command)
        return self.torque(time, q, dq)

    def send(self, command: Command) -> None:
        """Put what the session has just answered on its way."""
        if self._settings.interface == "effort":
            self._put(command.time, 0, command.effort)
        else:
            for arm, law in enumerate(self._source.laws()):
                self._put(command.time, arm, law)

    def _put(self, time: float, arm: int, message: Array | LocalLaw) -> None:
        self.sent += 1
        if self._generator.random() < self._settings.loss:
            self.lost += 1
        else:
            self._under_way.append((time + self._settings.delay, arm, message))

    def torque(self, time: float, q: Array, dq: Array) -> Array | None:
        """Whole torques (n,) that the arms get now, N m; None before the first command.

        Args:
            time: Present time of the clock that stamps the states, s.
            q: (n,) Joint positions of all arms that their drivers measure now, rad.
            dq: (n,) rad/s.
        """
        assert self._session is not None
        # What arrives within half a cycle is in time for it.
        now = time + 0.5 * self._session.parameters.period
        while self._under_way and self._under_way[0][0] <= now:
            _, arm, message = self._under_way.popleft()
            if isinstance(message, LocalLaw):
                self._followers[arm].receive(message)
            else:
                self._held = message
        torque = self._held if self._settings.interface == "effort" else self._followed(time, q, dq)
        if torque is not None:
            if self._applied is not None:
                self.largest_step = max(self.largest_step, float(np.abs(torque - self._applied).max()))
            self._applied = torque
        return torque

    def _followed(self, time: float, q: Array, dq: Array) -> Array | None:
        if any(follower.law is None for follower in self._followers):
            return None
        torques = [
            follower.apply(q[part], dq[part], time) for follower, part in zip(self._followers, self._parts, strict=True)
        ]
        self.unled += any(follower.expired for follower in self._followers)
        return np.concatenate(torques)
