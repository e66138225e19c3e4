"""What a flexible, torque-controlled joint has beyond a rigid one (Rey Arias 2024, (1)-(6)): the only model of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.compiled import FLAG, MATRIX, NOTHING, NUMBER, VECTOR, WRITTEN_VECTOR, compiled
from impact_aware.errors import InvalidInputError
from impact_aware.ranges import POSITIVE
from impact_aware.robot import RobotModel

Numbers = TypeVar("Numbers", float, Array)

STIFFNESS = 1e4
"""Stiffness of every flexible joint, N m/rad: the order of magnitude of Rey Arias 2024, section III."""

SUBSTEPS = 8
"""Physics steps per ms with flexible joints away from impacts, at least: 25 in a period of a joint at 300 Hz."""

STABLE_STEP = 1.5
"""Longest physics step away from impacts, in times in which a flexible joint's damping stops its link; 2 diverges."""

TORQUE_RATE = 4000.0
"""Rate of the joints' torque loop, Hz: Rey Arias 2024, section III."""

CONTROL_PERIOD = 1e-3
"""Period of the high-level controller, s."""


@dataclass(frozen=True, eq=False)
class JointElasticity:
    """Elasticity, motors and torque loop of all joints, link side.

    Attributes:
        stiffness: (n,) K, N m/rad, > 0.
        damping: (n,) D, N m s/rad, >= 0.
        motor_inertia: (n,) B_rho, kg m^2, > 0.
        apparent_motor_inertia: (n,) B_theta, kg m^2, what the torque loop aims at, 0 < B_theta <= B_rho.
        torque_rate: Rate of the torque loop, Hz, whole multiple of 1 kHz; 4 kHz in Rey Arias 2024, section III.
        torque_cutoff: Cut-off of the first-order filter on the measured torque, Hz; 300 Hz there. Infinite: no filter.
        friction: (n,) Of motors and gears at speed, N m; none when empty. Rey Arias 2024 has none.
        friction_velocity: (n,) Motor speeds at which it is 76 % of that, rad/s, > 0.
    """

    stiffness: Array
    damping: Array
    motor_inertia: Array
    apparent_motor_inertia: Array
    torque_rate: float = TORQUE_RATE
    torque_cutoff: float = 300.0
    friction: Array = field(default_factory=lambda: np.zeros(0))
    friction_velocity: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Check every field; an InvalidInputError names the wrong one."""
        shape = np.shape(self.motor_inertia)
        for name, without in (("friction", 0.0), ("friction_velocity", 1.0)):
            if not np.size(getattr(self, name)):
                object.__setattr__(self, name, np.full(shape, without))
        checked = ("motor_inertia", "stiffness", "apparent_motor_inertia", "damping", "friction", "friction_velocity")
        for name in checked:
            values = np.array(getattr(self, name), dtype=float)
            good, lowest = (values >= 0.0, ">= 0") if name in ("damping", "friction") else (values > 0.0, "> 0")
            if values.shape != shape or values.ndim != 1 or not np.all(good & np.isfinite(values)):
                raise InvalidInputError(name, values.tolist(), f"values {lowest}, one per joint")
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if np.any(self.apparent_motor_inertia > self.motor_inertia):
            raise InvalidInputError(
                "apparent_motor_inertia", self.apparent_motor_inertia.tolist(), f"at most {self.motor_inertia.tolist()}"
            )
        POSITIVE.check("torque_rate", self.torque_rate)
        if abs(self.torque_rate * CONTROL_PERIOD - round(self.torque_rate * CONTROL_PERIOD)) > 1e-9:
            raise InvalidInputError("torque_rate", self.torque_rate, "a whole multiple of 1000 Hz")
        if not self.torque_cutoff > 0.0:
            raise InvalidInputError("torque_cutoff", self.torque_cutoff, "a frequency > 0 Hz")

    @classmethod
    def of(
        cls,
        robot: RobotModel,
        *,
        stiffness: ArrayLike = STIFFNESS,
        damping: ArrayLike = 20.0,
        torque_rate: float = TORQUE_RATE,
        torque_cutoff: float = 300.0,
        friction: bool = False,
    ) -> JointElasticity:
        """With the motor inertias of `robot`; stiffness and damping are orders of magnitude (Rey Arias 2024, III).

        With `friction` the motors have that of the robot's profile, if it is known.

        Raises:
            InvalidInputError: The robot's motor inertia is unknown.
        """
        profile = robot.profile if friction else None
        return cls(
            np.broadcast_to(stiffness, robot.n),
            np.broadcast_to(damping, robot.n),
            robot.motor_inertia_for("M+B_rho"),
            robot.apparent_motor_inertia,
            torque_rate,
            torque_cutoff,
            np.array(() if profile is None else profile.motor_friction),
            np.array(() if profile is None else profile.motor_friction_velocity),
        )

    def torque(self, theta: Array, dtheta: Array, q: Array, dq: Array) -> Array:
        """What the link-side torque sensors show, tau + D K^-1 dtau (n,), N m (Rey Arias 2024, (2)).

        `theta` and `dtheta` (n,) are those of the motors behind the gear, `q` and `dq` (n,) of the links; rad, rad/s.
        """
        return np.asarray(spring_torque(self.stiffness, self.damping, theta - q, dtheta - dq))

    def actuation(self, desired: Array, measured: Array) -> Array:
        """Motor torques (n,) of the torque loop, N m, from link-side torques `desired` u and `measured` (n,), N m.

        B_rho B_theta^-1 u + (I - B_rho B_theta^-1) times the reading, which may be filtered (Rey Arias 2024, (4)).
        """
        return np.asarray(loop_torque(self.motor_inertia, self.apparent_motor_inertia, desired, measured))

    def motor_acceleration(self, actuation: Array, torque: Array, dtheta: Array) -> Array:
        """(n,) rad/s^2, of motors that `actuation` drives against joint torque (Rey Arias 2024, (3)) and friction."""
        opposed = torque + self.friction * np.tanh(dtheta / self.friction_velocity)
        return np.asarray((actuation - opposed) / self.motor_inertia)


def spring_torque(stiffness: Numbers, damping: Numbers, twist: Numbers, rate: Numbers) -> Numbers:
    """Tau + D K^-1 dtau, N m (Rey Arias 2024, (2)), of a twist of motor against link, rad, and its rate, rad/s."""
    return stiffness * twist + damping * rate


def loop_torque(motor: Numbers, apparent: Numbers, desired: Numbers, measured: Numbers) -> Numbers:
    """Motor torque of the torque loop, N m (Rey Arias 2024, (4)); see `JointElasticity.actuation`."""
    return desired * (motor / apparent) + measured * (1.0 - motor / apparent)


_FOUR = (NUMBER, NUMBER, NUMBER, NUMBER)
_spring_torque = compiled(NUMBER, *_FOUR)(spring_torque)
_loop_torque = compiled(NUMBER, *_FOUR)(loop_torque)


@compiled(
    NOTHING, VECTOR, VECTOR, VECTOR, MATRIX, NUMBER, NUMBER, FLAG,
    WRITTEN_VECTOR, WRITTEN_VECTOR, WRITTEN_VECTOR, WRITTEN_VECTOR, WRITTEN_VECTOR,
)  # fmt: skip
def step_motors(
    desired: Array,
    q: Array,
    dq: Array,
    joints: Array,
    share: float,
    timestep: float,
    sampled: bool,
    theta: Array,
    velocity: Array,
    torque: Array,
    filtered: Array,
    actuation: Array,
) -> None:
    """The motor side of all joints over one physics step: Rey Arias 2024, (2)-(4).

    Args:
        desired: (n,) Commanded link-side torque u, N m.
        q: (n,) Links at the step's start, rad.
        dq: (n,) Their velocities, rad/s.
        joints: (6, n) Stiffness, damping, motor inertia, apparent motor inertia, friction and its velocity.
        share: By how much the filter follows its input in one step, 0..1.
        timestep: s.
        sampled: Whether the torque loop computes anew; it holds its last actuation otherwise.
        theta: (n,) Motors, rad; moved on.
        velocity: (n,) Their velocities, rad/s; moved on.
        torque: (n,) What the link-side sensors show, N m; written to.
        filtered: (n,) The torque loop's reading, N m; moved on.
        actuation: (n,) Motor torques, N m; written to where `sampled`.
    """
    for i in range(desired.size):
        torque[i] = _spring_torque(joints[0, i], joints[1, i], theta[i] - q[i], velocity[i] - dq[i])
        if sampled:
            actuation[i] = _loop_torque(joints[2, i], joints[3, i], desired[i], filtered[i])
        filtered[i] += share * (torque[i] - filtered[i])
        opposed = torque[i] + joints[4, i] * math.tanh(velocity[i] / joints[5, i])
        velocity[i] += timestep * (actuation[i] - opposed) / joints[2, i]
        theta[i] += timestep * velocity[i]


class FlexibleDrive:
    """The motor side of one arm, stepped along with MuJoCo's physics; the links carry no motor inertia then.

    Motor positions are integrated semi-implicitly, as MuJoCo integrates the links, so that the pair is one symplectic
    scheme. The torque loop samples and holds at its own rate.

    Attributes:
        elasticity: The joints.
        torque: (n,) What the link-side torque sensors show, N m.
        theta: (n,) Motor positions behind the gear, rad.
        motor_velocity: (n,) Their velocities, rad/s.
    """

    def __init__(self, elasticity: JointElasticity, timesteps: Sequence[float]) -> None:
        """Prepare for physics steps of any of the `timesteps`, s.

        Raises:
            InvalidInputError: The torque loop's period is no whole number of physics steps.
        """
        self.elasticity = elasticity
        for timestep in timesteps:
            ratio = 1.0 / (elasticity.torque_rate * timestep)
            if round(ratio) < 1 or abs(ratio - round(ratio)) > 1e-6:
                expected = f"a whole fraction of {1.0 / timestep:g} Hz"
                raise InvalidInputError("torque_rate", elasticity.torque_rate, expected)
        self._shares = {step: 1.0 - math.exp(-2.0 * math.pi * elasticity.torque_cutoff * step) for step in timesteps}
        inertias = (elasticity.motor_inertia, elasticity.apparent_motor_inertia)
        friction = (elasticity.friction, elasticity.friction_velocity)
        self._joints = np.array([elasticity.stiffness, elasticity.damping, *inertias, *friction])
        zeros = np.zeros(elasticity.stiffness.size)
        self.reset(zeros, zeros, zeros)

    def reset(self, q: Array, dq: Array, torque: Array) -> None:
        """Put the motors where joints at `q`, `dq` (n,) carry `torque` (n,), N m, and move along with the links."""
        self.theta = q + torque / self.elasticity.stiffness
        self.motor_velocity = dq.copy()
        self._filtered = torque.copy()
        self._actuation = torque.copy()
        self._held = 0.0
        self.torque = torque.copy()

    def rigid_velocity(self, link_inertia: Array, dq: Array) -> Array:
        """(n,) Velocity, rad/s, of the rigid arm with the momentum M dq + B_theta dtheta that links and motors have.

        Torques of the joints between them leave that momentum as it is; with the torque loop the motors weigh B_theta
        (Rey Arias 2024, (6)). `link_inertia` is M (n, n), kg m^2, without motors, and `dq` (n,) the links', rad/s.
        """
        motors = self.elasticity.apparent_motor_inertia
        whole = link_inertia + np.diag(motors)
        return np.asarray(np.linalg.solve(whole, link_inertia @ dq + motors * self.motor_velocity))

    def step(self, desired: Array, q: Array, dq: Array, timestep: float) -> Array:
        """Torque (n,) on the links over the coming physics step, N m, and the motors moved on by it.

        `desired` (n,) is the commanded link-side torque u, N m; `q`, `dq` (n,) are the links' at the step's start;
        `timestep` is one of those that were announced. Their lengths may change where the torque loop samples.
        """
        sampled = self._held <= 0.0
        if sampled:
            self._held = 1.0 / self.elasticity.torque_rate
        self._held -= timestep
        if self._held < 0.5 * timestep:
            self._held = 0.0
        step_motors(
            desired,
            q,
            dq,
            self._joints,
            self._shares[timestep],
            timestep,
            sampled,
            self.theta,
            self.motor_velocity,
            self.torque,
            self._filtered,
            self._actuation,
        )
        return self.torque


def substeps_of(robot: RobotModel, joints: JointElasticity, cycle: float) -> int:
    """Physics steps per cycle: enough for the swinging of the joints, and as many for each cycle of the torque loop.

    Raises:
        InvalidInputError: A cycle, s, that is no multiple of the torque loop's.
    """
    loops = round(joints.torque_rate * cycle)
    if loops < 1 or abs(joints.torque_rate * cycle - loops) > 1e-9:
        expected = f"a multiple of the {1.0 / joints.torque_rate:g} s of the joints' torque loop"
        raise InvalidInputError("cycle", f"{cycle:.6g} s", expected)
    link = np.diag(robot.mass_matrix(robot.home, "M"))
    stopping = np.max(joints.damping * (1.0 / link + 1.0 / joints.motor_inertia))
    least = max(1e3 * SUBSTEPS * cycle, cycle * stopping / STABLE_STEP)
    return loops * math.ceil(least / loops)
