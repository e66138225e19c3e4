"""One impact of arms and objects in Drake, an optional package: hard compliant points after Hunt and Crossley.

Each contact is a small ball on `body` and a plate on `other` that only meet each other, so the scene has exactly the
contacts that a map is given. Links, motor inertia and objects are those of the package; contact, friction and
integration are Drake's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import FreeObject, contact_axes
from impact_aware.impact.bodies import ArmState, BodyContact

try:
    from pydrake import all as drake
except ImportError:
    drake = None

INSTALLED = drake is not None
"""Whether Drake can be imported."""

STIFFNESS = 1e8
"""Stiffness of a pad whose relative one is 1, N/m: an impact takes a millisecond or less."""

# A ball's radius, m, and the stiffness of a plate, which leaves the ball's as that of the contact, N/m.
_RADIUS, _PLATE = 0.01, 1e15
# What is followed, s; slip below which friction fades, m/s, a thousandth of an approach; error of a state in a step.
_DURATION, _STICTION, _ACCURACY = 4e-3, 2e-4, 1e-6
# Time for a gap, s/m: it closes at 0.02 m/s at least.
_CLOSING = 50.0


def drake_impact(
    contacts: Sequence[BodyContact],
    arms: Mapping[str, ArmState],
    objects: Mapping[str, FreeObject],
    stiffness: Array,
    dissipation: float,
    gaps: Array,
) -> Array:
    """Velocities (k,) after an impact without gravity: joints of each arm, rad/s, twist of each object, linear first.

    Args:
        contacts: Friction is that of each.
        arms: By name.
        objects: By name.
        stiffness: (m,) Of the contacts, N/m.
        dissipation: Of Hunt and Crossley's force k x (1 + d x'), s/m.
        gaps: (m,) What contacts still have to close at the start, m.
    """
    builder = drake.DiagramBuilder()
    plant, scene = drake.AddMultibodyPlantSceneGraph(builder, 0.0)
    plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))
    joints = {name: _add_arm(plant, name, arm) for name, arm in arms.items()}
    poses: dict[str | None, tuple[Any, Any]] = {None: (plant.world_body(), drake.RigidTransform())}
    for name, arm in arms.items():
        arm.robot.placement(arm.q)
        last = arm.robot.data.oMi[arm.robot.n]
        poses[name] = (joints[name][-1].child_body(), _pose(arm) @ _transform(last))
    for name, thing in objects.items():
        whole = _inertia(thing.mass, np.zeros(3), thing.inertia)
        body = plant.AddRigidBody(name, plant.AddModelInstance(f"{name}-object"), whole)
        poses[name] = (body, drake.RigidTransform(thing.position))
    pairs = []
    for number, contact in enumerate(contacts):
        turn = drake.RotationMatrix(contact_axes(contact.normal).T[:, [1, 2, 0]])
        ball = (contact.body, drake.Sphere(_RADIUS), _RADIUS, stiffness[number])
        plate = (contact.other, drake.Box(1.0, 1.0, 1.0), -0.5 - gaps[number], _PLATE)
        pair = []
        for side, (owner, shape, height, hardness) in enumerate((ball, plate)):
            material = drake.ProximityProperties()
            rubbing = drake.CoulombFriction(contact.friction, contact.friction)
            drake.AddContactMaterial(dissipation, float(hardness), rubbing, material)
            body, pose = poses[owner]
            placed = pose.inverse() @ drake.RigidTransform(turn, contact.point + height * contact.normal)
            pair.append(plant.RegisterCollisionGeometry(body, placed, shape, f"{number}-{side}", material))
        pairs.append(pair)
    plant.Finalize()
    plant.set_stiction_tolerance(_STICTION)
    diagram, chosen = builder.Build(), drake.CollisionFilterDeclaration()
    chosen.ExcludeWithin(drake.GeometrySet([geometry for pair in pairs for geometry in pair]))
    for first, second in pairs:
        chosen.AllowBetween(drake.GeometrySet([first]), drake.GeometrySet([second]))
    scene.collision_filter_manager().Apply(chosen)
    context = diagram.CreateDefaultContext()
    state = plant.GetMyMutableContextFromRoot(context)
    for name, arm in arms.items():
        for joint, position, rate in zip(joints[name], arm.q, arm.dq, strict=True):
            joint.set_angle(state, position)
            joint.set_angular_rate(state, rate)
        motors = plant.get_actuation_input_port(joints[name][0].model_instance())
        motors.FixValue(state, np.zeros(arm.robot.n))
    for name, thing in objects.items():
        body, pose = poses[name]
        plant.SetFreeBodyPose(state, body, pose)
        plant.SetFreeBodySpatialVelocity(state, body, drake.SpatialVelocity(thing.twist[3:], thing.twist[:3]))
    simulator, how = drake.Simulator(diagram, context), drake.SimulatorConfig()
    how.integration_scheme, how.accuracy, how.max_step_size = "runge_kutta3", _ACCURACY, _DURATION / 50.0
    drake.ApplySimulatorConfig(how, simulator)
    simulator.AdvanceTo(_DURATION + _CLOSING * float(gaps.max()))
    after = [joint.get_angular_rate(state) for name in arms for joint in joints[name]]
    for name in objects:
        velocity = plant.EvalBodySpatialVelocityInWorld(state, poses[name][0])
        after += [*velocity.translational(), *velocity.rotational()]
    return np.array(after)


def _add_arm(plant: Any, name: str, arm: ArmState) -> list[Any]:
    """Add links and joints, with their motors' inertia, and return the joints."""
    model, instance, parent, joints = arm.robot.model, plant.AddModelInstance(name), plant.world_body(), []
    for number in range(1, model.njoints):
        link, at = model.inertias[number], _transform(model.jointPlacements[number])
        body = plant.AddRigidBody(f"{name}{number}", instance, _inertia(link.mass, link.lever, link.inertia))
        frame = drake.FixedOffsetFrame(
            f"{name}{number}-joint", parent.body_frame(), _pose(arm) @ at if number == 1 else at
        )
        turning = drake.RevoluteJoint(f"{name}{number}", plant.AddFrame(frame), body.body_frame(), [0.0, 0.0, 1.0])
        joints.append(plant.AddJoint(turning))
        motor = plant.AddJointActuator(f"{name}{number}", joints[-1])
        motor.set_default_rotor_inertia(float(model.armature[number - 1]))
        motor.set_default_gear_ratio(1.0)
        parent = body
    return joints


def _inertia(mass: float, lever: Array, about_centre: Array) -> Any:
    """Spatial inertia of a body whose centre is at `lever` (3,), m, from its inertia (3, 3) there."""
    return drake.SpatialInertia.MakeFromCentralInertia(
        mass, lever, drake.RotationalInertia(*np.diag(about_centre), *about_centre[[0, 0, 1], [1, 2, 2]])
    )


def _pose(arm: ArmState) -> Any:
    return drake.RigidTransform(drake.RotationMatrix(arm.rotation), arm.position)


def _transform(placement: Any) -> Any:
    return drake.RigidTransform(drake.RotationMatrix(placement.rotation), placement.translation)
