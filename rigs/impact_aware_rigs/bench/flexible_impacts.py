"""Seeded impacts of the flexible-joint arm against a fixed surface, for holding estimators against the rigid answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact
from impact_aware.contact.hunt_crossley import ExponentialHuntCrossley
from impact_aware.errors import NoSolutionError
from impact_aware.impact.predictor import predict
from impact_aware.robot import RobotModel
from impact_aware.simulation.flexible_joint import FlexibleJointArm, JointElasticity
from impact_aware.simulation.surface_contact import SurfaceContact

_UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class FlexibleImpactSettings:
    """How the impacts are made.

    The tool moves towards a horizontal surface at constant speed and orientation. With the touch, the controller goes
    over to gravity compensation, as in Rey Arias 2024 and Aouaj 2021, plus a light push along the normal that keeps
    contact and, on a rigid arm, would accelerate nothing.

    Attributes:
        speed: Smallest and largest tool speed, m/s.
        angle: Largest angle between the motion and the normal, rad.
        spread: Largest deviation of each joint from the home posture, rad.
        approach: Time before the touch, s.
        after: Time after the touch, s.
        push: Force along the normal after the touch, N.
        friction: Coulomb's coefficient of the surface.
        stiffness: Joint stiffness, N m/rad.
        damping: Joint damping, N m s/rad; 5 lets the oscillation last about 100 ms, as recorded in Rey Arias 2024 and
            Aouaj 2021.
        noise: Standard deviation of the measured positions, rad.
    """

    speed: tuple[float, float] = (0.1, 0.3)
    angle: float = np.pi / 3
    spread: float = 0.35
    approach: float = 0.12
    after: float = 0.25
    push: float = 20.0
    friction: float = 0.0
    stiffness: float = 1.0e4
    damping: float = 5.0
    noise: float = 1.0e-5


@dataclass(frozen=True, eq=False)
class FlexibleImpact:
    """One recorded impact with its rigid answer.

    Attributes:
        time: (k,) s.
        positions: (k, n) Measured link positions, rad.
        impact_time: First touch, s.
        q: (n,) Posture at first touch, rad.
        velocity_before: (n,) Link velocities at first touch, rad/s.
        velocity_after: (n,) Of the rigid arm with B_theta (Rey Arias 2024, eq. 17), rad/s.
        contact: The contact, with the surface's friction.
    """

    time: Array
    positions: Array
    impact_time: float
    q: Array
    velocity_before: Array
    velocity_after: Array
    contact: Contact


def simulate_flexible_impacts(
    robot: RobotModel, count: int, seed: int = 0, settings: FlexibleImpactSettings | None = None
) -> list[FlexibleImpact]:
    """Simulate `count` impacts; the same seed gives the same ones.

    Raises:
        NoSolutionError: A motion misses the surface, or the plant diverges.
    """
    settings = settings or FlexibleImpactSettings()
    rng = np.random.default_rng(seed)
    return [_simulate(robot, rng, settings) for _ in range(count)]


def _simulate(robot: RobotModel, rng: np.random.Generator, settings: FlexibleImpactSettings) -> FlexibleImpact:
    touch, velocity = _draw(robot, rng, settings)
    twist = np.concatenate([velocity, np.zeros(3)])
    start = touch.copy()
    for _ in range(round(settings.approach * 1e3)):
        start -= 1e-3 * np.linalg.pinv(robot.frame_jacobian(start)) @ twist
    begin = robot.placement(start)
    height = float(robot.placement(touch).translation[2]) - robot.tool_radius
    surface = SurfaceContact(
        _UP,
        np.array([0.0, 0.0, height]),
        ExponentialHuntCrossley(5e7, 5e8),
        friction=settings.friction,
    )
    touched = False

    def controller(time: float, q: Array, dq: Array) -> Array:
        nonlocal touched
        placement = robot.placement(q)
        jacobian = robot.frame_jacobian(q)
        touched = touched or float(placement.translation[2]) - robot.tool_radius <= height
        if touched:
            return robot.gravity(q) - settings.push * jacobian[2]
        offset = begin.translation + velocity * time - placement.translation
        turn = pin.log3(begin.rotation @ placement.rotation.T)
        rate = twist - jacobian @ dq
        force = np.concatenate([500.0 * offset + 60.0 * rate[:3], 40.0 * turn + 3.0 * rate[3:]])
        return robot.bias(q, dq) + jacobian.T @ force

    plant = FlexibleJointArm(
        robot, JointElasticity.of(robot, stiffness=settings.stiffness, damping=settings.damping), substeps=8
    )
    run = plant.simulate(
        start,
        np.linalg.pinv(robot.frame_jacobian(start)) @ twist,
        controller,
        surface,
        settings.approach + settings.after,
    )
    if not np.isfinite(run.impact_time):
        raise NoSolutionError("the simulated tool never reached the surface", problem=settings)
    contact = Contact(robot.tool_frame, _UP, friction=settings.friction, radius=robot.tool_radius)
    rigid = predict(robot, run.q_impact, run.velocity_before, contact)
    return FlexibleImpact(
        time=run.time,
        positions=run.q + settings.noise * rng.standard_normal(run.q.shape),
        impact_time=run.impact_time,
        q=run.q_impact,
        velocity_before=run.velocity_before,
        velocity_after=rigid.velocity_after,
        contact=contact,
    )


def _draw(robot: RobotModel, rng: np.random.Generator, settings: FlexibleImpactSettings) -> tuple[Array, Array]:
    """Posture at the touch, well away from singularities, and tool velocity there."""
    while True:
        q = robot.home + rng.uniform(-settings.spread, settings.spread, robot.n)
        if np.linalg.svd(robot.frame_jacobian(q), compute_uv=False)[-1] > 0.12:
            break
    tilt, turn = rng.uniform(0.0, settings.angle), rng.uniform(0.0, 2.0 * np.pi)
    direction = np.array([np.sin(tilt) * np.cos(turn), np.sin(tilt) * np.sin(turn), -np.cos(tilt)])
    return q, rng.uniform(*settings.speed) * direction
