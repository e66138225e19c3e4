"""What is drawn for a hit of a lab: arm, contact point, motion, obstacle, elasticity of joints, control after it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import load_profile
from impact_aware.simulation.joint_elasticity import JointElasticity

CONTROLS = ("carry_on", "brake", "second_push", "hold", "free")
"""What the controller does after the hit: goes on as before; brakes after 30 to 80 ms; yields, then pushes again; holds
the posture of the hit; only carries the arm's weight."""

ROBOTS = ("panda", "fr3")
"""Arms whose links are heavy beside the motors: with the light wrist of others, a hit makes the contact rattle."""

PHYSICS_STEP = 1e-4
"""s."""

SMALLEST = 0.12
"""Smallest jump of the fastest joint that is drawn, rad/s."""

OFFSET = 0.15
"""Largest distance of the true tip from the profile's, m."""


@dataclass(frozen=True, eq=False)
class HitDraw:
    """What is drawn for one hit.

    Attributes:
        robot: Profile that the analysis is given.
        plant: The same arm with the tip where it truly is.
        offset: (3,) From the profile's tip to the true one, tool frame, m.
        touch: (n,) Posture at which the tip is to touch, rad.
        velocity: (3,) Of the tip on its way there, base frame, m/s.
        normal: (3,) From the obstacle into the arm.
        fixed: Whether a table is hit, in place of the box.
        mass: Of the box, kg.
        lever: (2,) Where its face is hit, to the side and up from the centre, m.
        friction: Coulomb's coefficient at the tip.
        restitution: Of a mass that bounces off the contact's spring and damper.
        elasticity: Of the joints; None of rigid ones.
        control: One of `CONTROLS`.
        rest, ramp, cruise, after: Length of the phases, s.
        soft_start: Whether the motion starts without a step of the acceleration.
        reaction: From the hit to the change of control, s.
        strength: Acceleration of brake and second push, rad/s^2.
    """

    robot: RobotModel
    plant: RobotModel
    offset: Array
    touch: Array
    velocity: Array
    normal: Array
    fixed: bool
    mass: float
    lever: Array
    friction: float
    restitution: float
    elasticity: JointElasticity | None
    control: str
    rest: float
    ramp: float
    cruise: float
    after: float
    soft_start: bool
    reaction: float
    strength: float


def draw_hit(rng: np.random.Generator, control: str | None = None, *, elastic: bool = True) -> HitDraw:
    """Draw one hit that changes some joint's velocity by `SMALLEST` or more.

    Args:
        rng: Decides what is not given.
        control: What comes after the hit.
        elastic: Whether the joints are.
    """
    while True:
        draw = _draw(rng, control)
        rigid, _ = _jumps(draw.plant, draw, np.zeros(draw.plant.n))
        if np.abs(rigid).max() >= SMALLEST:
            return replace(draw, elasticity=_elasticity(draw, rng)) if elastic else draw


def _draw_arm(rng: np.random.Generator) -> tuple[RobotModel, RobotModel, Array]:
    """One of `ROBOTS`, the same arm with the tip up to `OFFSET` from there, and how far (3,), tool frame, m."""
    profile = load_profile(str(rng.choice(ROBOTS)))
    robot = RobotModel.from_profile(profile)
    direction = rng.standard_normal(3)
    offset = rng.uniform(0.0, OFFSET) * direction / np.linalg.norm(direction)
    tool = profile.tool
    assert tool is not None
    turned = pin.rpy.rpyToMatrix(*tool.rotation_rpy) @ offset
    x, y, z = (np.array(tool.position) + turned).tolist()
    plant = RobotModel.from_profile(replace(profile, tool=replace(tool, position=(x, y, z))))
    return robot, plant, offset


def _draw(rng: np.random.Generator, control: str | None) -> HitDraw:
    robot, plant, offset = _draw_arm(rng)
    fixed = bool(rng.uniform() < 0.25)
    heading = rng.uniform(-np.pi, np.pi)
    normal = np.array([0.0, 0.0, 1.0]) if fixed else np.array([np.cos(heading), np.sin(heading), 0.0])
    side = np.cross(normal, rng.standard_normal(3))
    angle = rng.uniform(0.0, np.pi / 4.0)
    aim = np.sin(angle) * side / np.linalg.norm(side) - np.cos(angle) * normal
    return HitDraw(
        robot=robot,
        plant=plant,
        offset=offset,
        touch=_posture(plant, rng),
        velocity=rng.uniform(0.15, 1.1) * aim,
        normal=normal,
        fixed=fixed,
        mass=float(np.exp(rng.uniform(np.log(0.4), np.log(5.0)))),
        lever=rng.uniform(-0.05, 0.05, 2),
        friction=rng.uniform(0.1, 0.6),
        restitution=rng.uniform(0.0, 0.7),
        elasticity=None,
        control=control or str(rng.choice(CONTROLS)),
        rest=rng.uniform(0.15, 0.35),
        ramp=rng.uniform(0.12, 0.25),
        cruise=rng.uniform(0.10, 0.20),
        after=0.5,
        soft_start=bool(rng.uniform() < 0.5),
        reaction=rng.uniform(0.030, 0.080),
        strength=rng.uniform(6.0, 18.0),
    )


def _posture(robot: RobotModel, rng: np.random.Generator) -> Array:
    while True:
        q = robot.home + rng.uniform(-0.35, 0.35, robot.n)
        if np.linalg.svd(robot.frame_jacobian(q)[:3], compute_uv=False)[-1] > 0.15:
            return np.asarray(q)


def _jumps(robot: RobotModel, draw: HitDraw, flexible: Array) -> tuple[Array, Array]:
    """Jumps (n,) of the arm without oscillation, and of its links when joints marked in (n,) are elastic, rad/s."""
    jacobian = robot.frame_jacobian(draw.touch)[:3].T @ draw.normal
    links = robot.mass_matrix(draw.touch, "M")
    inertia = robot.apparent_motor_inertia
    whole = np.linalg.solve(links + np.diag(inertia), jacobian)
    light = np.linalg.solve(links + np.diag(np.where(flexible > 0.0, 0.0, inertia)), jacobian)
    inverse_mass = 0.0 if draw.fixed else 1.0 / draw.mass
    speed = -float(draw.normal @ draw.velocity)
    impulse = (1.0 + draw.restitution) * speed / (float(jacobian @ light) + inverse_mass)
    return np.asarray(whole * impulse), np.asarray(light * impulse)


def _elasticity(draw: HitDraw, rng: np.random.Generator) -> JointElasticity:
    """Joints that oscillate at 15 to 50 Hz with 1 to 10 % of critical damping after the hit, by its jump at most.

    A joint whose link is light beside its motor would swing by several times the jump. On real arms those, in the
    wrist, are the stiff ones, and so they are here: 250 Hz.
    """
    robot = draw.plant
    flexible = np.ones(robot.n)
    while flexible.any():
        rigid, links = _jumps(robot, draw, flexible)
        ringing = np.abs(links - rigid)
        if ringing.max() <= np.abs(rigid).max():
            break
        # The lightest link beside its motor is stiffened first.
        share = flexible * robot.apparent_motor_inertia * np.diag(np.linalg.inv(robot.mass_matrix(draw.touch, "M")))
        flexible[int(np.argmax(share))] = 0.0
    inverse = np.diag(np.linalg.inv(robot.mass_matrix(draw.touch, "M"))) + 1.0 / robot.apparent_motor_inertia
    slow = rng.uniform(15.0, 50.0) * rng.uniform(0.85, 1.18, robot.n)
    frequency = 2.0 * np.pi * np.where(flexible > 0.0, slow, 250.0)
    ratio = np.where(flexible > 0.0, np.exp(rng.uniform(np.log(0.01), np.log(0.1))), 0.3)
    stiffness = frequency**2 / inverse
    rate = 1.0 / PHYSICS_STEP
    # What the loop's hold of half a period takes away from the damping is given back.
    gain = robot.motor_inertia_for("M+B_rho") / robot.apparent_motor_inertia
    lost = (gain - 1.0) / gain * 0.5 / rate * stiffness
    damping = 2.0 * ratio * stiffness / frequency + lost
    return JointElasticity.of(robot, stiffness=stiffness, damping=damping, torque_rate=rate, torque_cutoff=np.inf)
