"""What stops a Franka at a hit: which of its reflexes an expected impact would trip, and at which speed it would not.

The impulse J' p changes the joints' momentum within the time T that the pads' compliance gives the contact,
T = pi sqrt(m / k) with the mass m = p / v that both bodies show along the normal and the stiffness k: a half sine of
the force with the peak pi p / (2 T). Behind the gear, the part of the impulse that decelerates the motors, B_theta
times the jump, passes the torque sensor, which a joint of stiffness K stretches to at least the half period
pi sqrt(B_theta / K) of the motor on its spring. An arm whose profile has `safety.sensor_torque` is one of these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

if TYPE_CHECKING:
    from impact_aware.control.safety.impact_check import ExpectedImpact

HIGHEST_THRESHOLD = np.array([100.0, 100.0, 100.0, 100.0, 80.0, 80.0, 80.0])
"""Highest collision thresholds that are set, N m; above the sensor's range they stop nothing more."""

HIGHEST_FORCE = 500.0
"""Highest force threshold that is set, N."""

POWER = 200.0
"""Mechanical power of all joints, W, from which on `power_limit_violation` is expected; an assumption, as nothing is
published."""

JOINT_STIFFNESS = 1e4
"""Stiffness of every joint, N m/rad: the order of magnitude of Rey Arias 2024, section III."""

PAD_STIFFNESS = 5e4
"""Stiffness of tool and object in series where nothing is known, N/m: a firm rubber pad."""

MARGIN = 1.5
"""Thresholds over what is predicted."""


@dataclass(frozen=True, eq=False)
class Trip:
    """One reflex of the arm, and how near an expected impact comes to it.

    Attributes:
        name: Of the error, as libfranka has it.
        where: Joint with the largest share, or what it is about.
        value: Predicted there.
        limit: At which the arm stops.
        unit: Of both.
        share: Predicted over limit; above 1 the arm stops.
    """

    name: str
    where: str
    value: float
    limit: float
    unit: str
    share: float


@dataclass(frozen=True, eq=False)
class HitLoad:
    """What an expected impact loads the arm with.

    Attributes:
        duration: Of the contact's compression and release, s.
        force: Largest, N.
        external_torque: (n,) Largest J' f, N m.
        sensor_torque: (n,) Largest at the joints' sensors, with gravity, N m.
        power: Of the sensors' torques and the joint velocities before, W.
        trips: By falling share.
    """

    duration: float
    force: float
    external_torque: Array
    sensor_torque: Array
    power: float
    trips: tuple[Trip, ...]

    @property
    def thresholds(self) -> tuple[list[float], list[float]]:
        """Collision thresholds `MARGIN` above the prediction, within the highest ones: (n,) N m; (6,) N and N m."""
        torque = np.clip(MARGIN * self.external_torque, 20.0, HIGHEST_THRESHOLD)
        force = float(np.clip(MARGIN * self.force, 20.0, HIGHEST_FORCE))
        return torque.tolist(), [force] * 3 + [0.25 * force] * 3


def hit_load(
    impact: ExpectedImpact, robot: RobotModel, sensor_torque: Array, stiffness: float = PAD_STIFFNESS
) -> HitLoad:
    """Predict what an impact does to the arm, and which reflexes it trips.

    Args:
        impact: As the field leads to it.
        robot: The arm.
        sensor_torque: (n,) At which the joints' sensors stop it, `SafetyLimits.sensor_torque`, N m.
        stiffness: Of tool and object in series along the normal, N/m.

    Raises:
        InvalidInputError: A stiffness that is not positive.
    """
    if not (math.isfinite(stiffness) and stiffness > 0.0):
        raise InvalidInputError("stiffness", stiffness, "a stiffness > 0, N/m")
    jacobian = robot.frame_jacobian(impact.posture)[:3]
    impulse = float(np.linalg.norm(np.linalg.lstsq(jacobian.T, impact.joint_impulse)[0]))
    mass = impulse / impact.normal_speed if impact.normal_speed > 0.0 else impact.effective_mass
    duration = math.pi * math.sqrt(mass / stiffness)
    peak = math.pi / (2.0 * duration)
    motors = robot.motor_inertia_for("M+B_theta")
    stretched = np.maximum(duration, math.pi * np.sqrt(motors / JOINT_STIFFNESS))
    sensor = math.pi / 2.0 * motors * np.abs(impact.jump) / stretched + np.abs(robot.gravity(impact.posture))
    external = peak * np.abs(impact.joint_impulse)
    power = float(sensor @ np.abs(impact.velocity_before))
    force = peak * impulse
    found = [
        _worst("tau_J_range_violation", robot, sensor, sensor_torque, "N m"),
        _worst("joint_reflex", robot, external, HIGHEST_THRESHOLD, "N m"),
        Trip("cartesian_reflex", "force", force, HIGHEST_FORCE, "N", force / HIGHEST_FORCE),
        Trip("power_limit_violation", "all joints", power, POWER, "W", power / POWER),
        _worst("joint_velocity_violation", robot, np.abs(impact.velocity_after), robot.limits.velocity, "rad/s"),
    ]
    trips = tuple(sorted(found, key=lambda trip: -trip.share))
    return HitLoad(duration, force, external, sensor, power, trips)


def allowed_speed(impact: ExpectedImpact, robot: RobotModel, load: HitLoad, sensor_torque: Array) -> float:
    """Impact speed along the normal at which no reflex of the arm trips, m/s; 0 where gravity alone trips one."""
    gravity = np.abs(robot.gravity(impact.posture))
    rest = sensor_torque - gravity
    if (rest <= 0.0).any():
        return 0.0
    # All are proportional to the speed but gravity, which the sensors carry, and power, which has both.
    shares = [trip.share for trip in load.trips if trip.name in ("joint_reflex", "cartesian_reflex")]
    shares += [float(((load.sensor_torque - gravity) / rest).max()), math.sqrt(load.power / POWER), load.power / POWER]
    shares += [trip.share for trip in load.trips if trip.name == "joint_velocity_violation"]
    return impact.normal_speed / max(shares)


def check_reflexes(
    impact: ExpectedImpact, robot: RobotModel, sensor_torque: Array, stiffness: float = PAD_STIFFNESS
) -> HitLoad:
    """Refuse an impact that trips a reflex of the arm.

    Raises:
        InvalidInputError: One would; the message names it, and the speed that would not.
    """
    load = hit_load(impact, robot, sensor_torque, stiffness)
    worst = load.trips[0]
    if not worst.share <= 1.0:
        label = f"arms[{impact.arm}].impact_velocity" if impact.arm else "impact_velocity"
        does = f"{worst.where} would get {worst.value:.3g} {worst.unit} ({worst.name})"
        speed = allowed_speed(impact, robot, load, sensor_torque)
        expected = f"at most {worst.limit:.3g} {worst.unit}, that is {speed:.3g} m/s"
        raise InvalidInputError(label, f"{impact.normal_speed:.3g} m/s, where {does}", expected)
    return load


def _worst(name: str, robot: RobotModel, values: Array, bound: Array, unit: str) -> Trip:
    share = values / bound
    joint = int(np.argmax(share))
    return Trip(name, robot.joint_names[joint], float(values[joint]), float(bound[joint]), unit, float(share[joint]))
