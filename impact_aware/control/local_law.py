"""What an arm shall do between two messages of the controller: a torque, and how it changes with the arm's state.

    tau = tau_ff + tau_t (t - t_ref) + K_q (q_ref - q) + K_v (dq_ref - dq)

with the controller's torque tau_ff at the state (q_ref, dq_ref) that it answered at t_ref, tau_t = dtau/dt,
K_q = -dtau/dq and K_v = -dtau/ddq of `linearisation`: at that state it is the controller's torque, and changes with
the state and with time, such as during the ramp of the start, as that does to first order. In
the interim mode the controller has no feedback of velocity where the jump is, and so has none K_v: what is left there
is the change of the Coriolis torques. Past its validity a law is not applied any more: the arm brakes and holds itself
(`braking`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.compiled import INDEX, MATRIX, NOTHING, NUMBER, VECTOR, WRITTEN_VECTOR, compiled
from impact_aware.control.braking import Braking
from impact_aware.control.command import Mode
from impact_aware.control.parameters import ControlParameters
from impact_aware.control.safety.command_filter import CommandFilter
from impact_aware.control.session import ControlSession
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

LOWEST_RATE, HIGHEST_RATE = 50.0, 1000.0
"""How often laws may come, Hz: with fewer the active bounds of one are long out of date."""

SHORTEST_VALIDITY, LONGEST_VALIDITY = 0.002, 0.5
"""Range of the validity of a law, s: an arm must not follow it for longer without renewal."""

DEFAULT_VALIDITY = 0.03
"""Longer than `state_age_limit`, over which a controller that was held up makes no law of a state any more, and within
30 ms of its death an arm damps itself, s."""


ARRAYS = "effort", "effort_rate", "position_gain", "velocity_gain", "position", "velocity"
"""Names of a law's arrays, in the order of the compiled functions."""


@dataclass(frozen=True, eq=False)
class LocalLaw:
    """The law of one arm; n joints. Torques are whole ones, with gravity.

    Attributes:
        joint_names: (n,) In the order of the arrays.
        effort: (n,) tau_ff, N m.
        effort_rate: (n,) tau_t, N m/s.
        position_gain: (n, n) K_q, N m/rad; row: torque, column: position.
        velocity_gain: (n, n) K_v, N m s/rad.
        position: (n,) q_ref, rad.
        velocity: (n,) dq_ref, rad/s.
        stamp: Of the state that it answers, s.
        validity: For how long from the stamp it may be applied, s.
        sequence: Grows by one with each law.
        mode: Mode of the controller.
    """

    joint_names: tuple[str, ...]
    effort: Array
    effort_rate: Array
    position_gain: Array
    velocity_gain: Array
    position: Array
    velocity: Array
    stamp: float
    validity: float
    sequence: int
    mode: Mode

    def __post_init__(self) -> None:
        """Refuse what is no law.

        Raises:
            InvalidInputError: Arrays of other shapes, numbers that are not finite, or a validity out of its range.
        """
        n, arrays = len(self.joint_names), self.arrays
        for name, value, dimensions in zip(ARRAYS, arrays, (1, 1, 2, 2, 1, 1), strict=True):
            if value.shape != (shape := (n,) * dimensions):
                raise InvalidInputError(f"law.{name}", value.shape, f"shape {shape}, as the law has {n} joints")
        if (wrong := first_infinite(*arrays)) >= 0:
            raise InvalidInputError(f"law.{ARRAYS[wrong]}", "numbers that are not finite", "finite numbers")
        if not math.isfinite(self.stamp):
            raise InvalidInputError("law.stamp", self.stamp, "a finite time, s")
        check_validity("law.validity", self.validity)

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """In the order of `ARRAYS`."""
        return self.effort, self.effort_rate, self.position_gain, self.velocity_gain, self.position, self.velocity

    def torque(self, q: Array, dq: Array, now: float) -> Array:
        """Whole torque (n,) at joint positions (n,), rad, and velocities (n,), rad/s, at the time `now`, s, N m."""
        torque = np.empty_like(self.effort)
        law_torque(*self.arrays, max(now - self.stamp, 0.0), q, dq, torque)
        return torque

    def is_valid(self, now: float) -> bool:
        """Whether it may be applied at `now`, s of the clock that stamps the laws."""
        return abs(now - self.stamp) <= self.validity


def check_validity(field: str, validity: float) -> None:
    """Refuse, with an InvalidInputError that names `field`, a validity that leaves an arm alone or can't be kept."""
    if not SHORTEST_VALIDITY <= validity <= LONGEST_VALIDITY:
        raise InvalidInputError(field, validity, f"{SHORTEST_VALIDITY:g}..{LONGEST_VALIDITY:g} s")


def check_laws(rate: float, validity: float) -> None:
    """Refuse, with an InvalidInputError that names the parameter, laws out of range or that end before the next one."""
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise InvalidInputError("law_rate", rate, f"{LOWEST_RATE:g}..{HIGHEST_RATE:g} Hz")
    check_validity("law_validity", validity)
    if validity * rate < 2.0:
        raise InvalidInputError("law_validity", validity, f"{2.0 / rate:g} s or more, two periods of the laws")


class LawSource:
    """Makes the laws of a session's commands: so many per second, and one at once when the mode changes."""

    def __init__(self, session: ControlSession, rate: float = 250.0, validity: float = DEFAULT_VALIDITY) -> None:
        """Make none yet.

        Args:
            session: Answers states; its torques and their derivatives become the laws.
            rate: Hz.
            validity: Of each law, s.

        Raises:
            InvalidInputError: A rate or validity out of its range, or laws that end before the next one comes.
        """
        check_laws(rate, validity)
        self._session, self._period, self._validity = session, 1.0 / rate, validity
        self._last, self._mode, self._sequence = -math.inf, Mode.IDLE, 0

    def laws(self) -> list[LocalLaw]:
        """The laws of the last command, one per arm; none when they are not due.

        Raises:
            InvalidInputError: Derivatives that are not finite.
        """
        session = self._session
        command = session.command
        if command is None:
            return []
        since = command.time - self._last
        # States come with jitter: half a period of theirs early is in time.
        early = 0.5 * session.parameters.period
        if command.mode is self._mode and 0.0 <= since < self._period - early:
            return []
        found = session.torque_derivatives()
        self._last, self._mode, self._sequence = command.time, command.mode, self._sequence + 1
        laws, first = [], 0
        for index, robot in enumerate(session.robots):
            part = slice(first, first + robot.n)
            first += robot.n
            if found is None:
                q, dq = session.position[part].copy(), np.zeros(robot.n)
                by_position, by_time = np.zeros((robot.n, robot.n)), np.zeros(robot.n)
                by_velocity = -session.parameters.safe_damping * robot.mass_matrix(q)
            else:
                answer, derivatives = found
                q, dq = answer.q[part].copy(), answer.dq[part].copy()
                by_position, by_velocity, by_time = derivatives[index]
            effort = command.effort[part].copy()
            arrays = effort, by_time, -by_position, -by_velocity, q, dq
            settings = command.time, self._validity, self._sequence, command.mode
            laws.append(LocalLaw(robot.joint_names, *arrays, *settings))
        return laws


class LawFollower:
    """Applies the laws of one arm as its driver's controller does, at the rate of that controller.

    Attributes:
        law: The one that is followed, or None.
        filter: Keeps what is sent within the torque limits and the torque rate.
        expired: Whether the law's validity is over, or there never was one: the arm brakes, then holds.
    """

    def __init__(self, robot: RobotModel, period: float = 0.001) -> None:
        """Follow nothing yet.

        Args:
            robot: The arm, with gravity as its base has it.
            period: Time between two torques, s.
        """
        self._robot = robot
        self._braking = Braking(robot, ControlParameters(), period)
        self.filter = CommandFilter([robot], period)
        self.law: LocalLaw | None = None
        self.expired = True

    def receive(self, law: LocalLaw) -> None:
        """Follow this law from now on.

        Raises:
            InvalidInputError: A law for other joints, or one that is not newer than the law that is followed; a
                controller that was started anew begins to count anew, which is let pass once validity is over.
        """
        if law.joint_names != self._robot.joint_names:
            raise InvalidInputError("law.joint_names", list(law.joint_names), f"{list(self._robot.joint_names)}")
        before = self.law
        if before is not None and not self.expired and law.sequence <= before.sequence:
            raise InvalidInputError("law.sequence", law.sequence, f"more than {before.sequence}, that of the last law")
        self.law = law

    @property
    def at_rest(self) -> bool:
        """Whether the arm was at rest at the last state for which no law was valid."""
        return self._braking.at_rest

    def apply(self, q: Array, dq: Array, now: float, applied: Array | None = None) -> Array:
        """The whole torque (n,) for a state of the arm, within its limits, N m; `filter.previous` is what is sent.

        Args:
            q: (n,) rad.
            dq: (n,) rad/s.
            now: Present time of the clock that stamps the laws, s.
            applied: (n,) What the arm reports as its last desired torque, as `CommandFilter.count_from` takes it.
        """
        law, robot = self.law, self._robot
        gravity = robot.gravity(q)
        if not self.filter.begun:
            self.filter.begin(gravity)
        self.filter.count_from(applied)
        self.expired = law is None or not law.is_valid(now)
        if law is None or self.expired:
            mass_matrix = robot.mass_matrix(q)
            wanted = robot.bias(q, dq) + mass_matrix @ self._braking.acceleration(now, q, dq, mass_matrix)
        else:
            self._braking.begin()
            wanted = law.torque(q, dq, now)
        self.filter.apply(wanted, gravity)
        return self.filter.effort


@compiled(INDEX, VECTOR, VECTOR, MATRIX, MATRIX, VECTOR, VECTOR)
def first_infinite(
    effort: Array, effort_rate: Array, position_gain: Array, velocity_gain: Array, position: Array, velocity: Array
) -> int:
    """Index among `ARRAYS` of one with a number that is not finite; -1 where there is none."""
    for i in range(effort.size):
        vectors = effort[i], effort_rate[i], position[i], velocity[i]
        for index, value in enumerate(vectors):
            if not math.isfinite(value):
                return index if index < 2 else index + 2
        for j in range(effort.size):
            if not math.isfinite(position_gain[i, j]):
                return 2
            if not math.isfinite(velocity_gain[i, j]):
                return 3
    return -1


@compiled(NOTHING, VECTOR, VECTOR, MATRIX, MATRIX, VECTOR, VECTOR, NUMBER, VECTOR, VECTOR, WRITTEN_VECTOR)
def law_torque(
    effort: Array,
    effort_rate: Array,
    position_gain: Array,
    velocity_gain: Array,
    position: Array,
    velocity: Array,
    since: float,
    q: Array,
    dq: Array,
    torque: Array,
) -> None:
    """Torque of a law, as the module writes it.

    Args:
        effort: (n,) tau_ff, N m.
        effort_rate: (n,) tau_t, N m/s.
        position_gain: (n, n) K_q, N m/rad.
        velocity_gain: (n, n) K_v, N m s/rad.
        position: (n,) q_ref, rad.
        velocity: (n,) dq_ref, rad/s.
        since: Time since the state that the law answers, s.
        q: (n,) rad.
        dq: (n,) rad/s.
        torque: (n,) Written to, N m.
    """
    for i in range(effort.size):
        value = effort[i] + since * effort_rate[i]
        for j in range(effort.size):
            value += position_gain[i, j] * (position[j] - q[j]) + velocity_gain[i, j] * (velocity[j] - dq[j])
        torque[i] = value
