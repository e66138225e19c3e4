"""The rigid impact maps against MuJoCo, where its contact model is exact: frictionless and sticking, fixed surface."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, contact_jacobian
from impact_aware.contact.kelvin_voigt import KelvinVoigt
from impact_aware.errors import NoSolutionError
from impact_aware.experiments.validation.check import Check, at_most, equal
from impact_aware.experiments.validation.context import ValidationContext
from impact_aware.impact import predict
from impact_aware.robot import RobotModel
from impact_aware.simulation.mujoco_model import add_arm, compile_spec, new_spec

_UP = np.array([0.0, 0.0, 1.0])
_TIME_CONSTANT = 1e-4
_TIMESTEP = 5e-6
_INELASTIC = 5.0
# Enough to stick at any angle drawn, on both sides of the comparison.
_STICKY = 5.0
# Share of the approach speed at which an inelastic contact, which tends to rest exponentially, counts as at rest.
_REST = 2e-3
_AIM = "van Steen 2024 III-B1"
_ASSUMPTION = (
    "3.55 % is van Steen 2024's figure for its engine; MuJoCo with armature = B_theta, contact time constant 0.1 ms, "
    "damping ratio 5; Panda within 0.4 rad of home, 0.1-0.5 m/s, 0-60 deg from the normal; sticking: friction 5 in both"
)


@dataclass(frozen=True, eq=False)
class SurfaceImpact:
    """One impact in MuJoCo.

    Attributes:
        velocity_after: (n,) rad/s, at the end of compression.
        restitution: Largest normal separation speed within the time watched, over the approach speed.
    """

    velocity_after: Array
    restitution: float


def mujoco_impact(
    robot: RobotModel,
    q: Array,
    dq: Array,
    contact: Contact,
    *,
    damping_ratio: float = _INELASTIC,
    timestep: float = _TIMESTEP,
) -> SurfaceImpact:
    """Let the spherical tip touch a horizontal plane at `q` with `dq`, and follow the contact.

    Raises:
        NoSolutionError: The compression does not end.
    """
    spec = new_spec(robot)
    spec.option.timestep = timestep
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.tolerance = 1e-12
    names = add_arm(spec, robot)
    height = float(robot.placement(q).translation[2]) - robot.tool_radius
    plane = spec.worldbody.add_geom(
        name="surface",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[3.0, 3.0, 0.1],
        pos=[0.0, 0.0, height],
        contype=0,
        conaffinity=0,
    )
    friction = max(contact.friction, 1e-9)
    spec.add_pair(
        geomname1=names.tool_geom,
        geomname2=plane.name,
        condim=3 if contact.friction > 0.0 else 1,
        friction=[friction, friction, 1e-9, 1e-9, 1e-9],
        solref=[_TIME_CONSTANT, damping_ratio],
        solreffriction=[_TIME_CONSTANT, damping_ratio],
        solimp=[0.9999, 0.9999, 1e-3, 0.5, 2.0],
    )
    model = compile_spec(spec)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, dq
    data.qfrc_applied[:] = robot.gravity(q)
    row = contact_jacobian(robot, q, contact)[2]
    approach = -float(row @ dq)
    after, fastest = None, 0.0
    for _ in range(round(100.0 * _TIME_CONSTANT / timestep)):
        mujoco.mj_step(model, data)
        speed = float(row @ data.qvel)
        fastest = max(fastest, speed)
        if after is None and speed > -_REST * approach:
            after = data.qvel.copy()
        if after is not None and data.ncon == 0:
            break
    if after is None:
        raise NoSolutionError("MuJoCo's contact does not come to rest", problem=contact)
    return SurfaceImpact(after, fastest / approach)


def mujoco_surface(context: ValidationContext) -> list[Check]:
    """Mean relative error of the jump, frictionless and sticking, and the restitution of the reference."""
    robot = RobotModel.from_profile("panda")
    generator = np.random.default_rng(context.seed)
    error: dict[str, list[float]] = {"frictionless": [], "sticking": []}
    bounce: list[float] = []
    stuck = 0
    for _ in context.count(context.trials):
        q, velocity = _state(robot, generator)
        for kind, friction in (("frictionless", 0.0), ("sticking", _STICKY)):
            contact = Contact(robot.tool_frame, _UP, radius=robot.tool_radius, friction=friction)
            dq = np.linalg.pinv(contact_jacobian(robot, q, contact)) @ velocity
            reference = mujoco_impact(robot, q, dq, contact)
            predicted = predict(robot, q, dq, contact)
            stuck += predicted.mode == "stick"
            jump = np.linalg.norm(reference.velocity_after - dq)
            error[kind].append(float(np.linalg.norm(predicted.velocity_after - reference.velocity_after) / jump))
            bounce.append(reference.restitution)
    contact = Contact(robot.tool_frame, _UP, radius=robot.tool_radius)
    straight = np.linalg.pinv(contact_jacobian(robot, robot.home, contact)) @ (-0.3 * _UP)
    critical = mujoco_impact(
        robot, robot.home, straight, contact, damping_ratio=1.0, timestep=0.2 * _TIMESTEP
    ).restitution
    if context.out is not None:
        _draw(context, error)
    checks = [
        at_most(
            _AIM,
            f"{kind}: {label} relative error of the jump, %, {context.trials} impacts",
            3.55,
            100.0 * float(reduce(np.array(values))),
            assumption=_ASSUMPTION,
        )
        for kind, values in error.items()
        for label, reduce in (("mean", np.mean), ("largest", np.max))
    ]
    return [
        *checks,
        equal(_AIM, "sticking impacts that the map takes for sticking", context.trials, stuck, 0),
        equal("reference", "largest restitution of the inelastic reference", 0.0, max(bounce), 0.02, _ASSUMPTION),
        equal(
            "Aouaj thesis (2.11)",
            "restitution of a critically damped contact: Kelvin-Voigt without tension, MuJoCo",
            float(KelvinVoigt(1.0, 2.0).restitution(1.0, 1.0)),
            critical,
            0.01,
            "MuJoCo's contact is a spring and dashpot that can't pull: exp(-2) at damping ratio 1",
        ),
    ]


def _state(robot: RobotModel, generator: np.random.Generator) -> tuple[Array, Array]:
    """A posture (n,) and a velocity (3,) of the tip towards the plane."""
    q = robot.home + generator.uniform(-0.4, 0.4, robot.n)
    angle, azimuth = np.radians(generator.uniform(0.0, 60.0)), generator.uniform(0.0, 2.0 * np.pi)
    direction = np.array([np.sin(angle) * np.cos(azimuth), np.sin(angle) * np.sin(azimuth), -np.cos(angle)])
    return q, generator.uniform(0.1, 0.5) * direction


def _draw(context: ValidationContext, error: dict[str, list[float]]) -> None:
    with context.figure("mujoco_jump_errors", figsize=(6.0, 3.8)) as (_, axes):
        axis = axes[0, 0]
        for kind, values in error.items():
            axis.step(np.sort(100.0 * np.array(values)), np.linspace(0.0, 1.0, len(values)), label=kind)
        axis.axvline(3.55, color="0.5", lw=1, label="3.55 % (van Steen 2024)")
        axis.set(xlabel="relative error of the jump, %", ylabel="share of impacts", xscale="log")
        axis.set(title="Impact maps against MuJoCo, Panda on a fixed surface")
        axis.legend()
