"""The MuJoCo arm, made from the Pinocchio model: both engines then hold one and the same arm, whatever its URDF."""

from __future__ import annotations

from dataclasses import dataclass

import coal
import mujoco
import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.robot.link_shapes import LinkShape, link_shapes


@dataclass(frozen=True)
class ToolTip:
    """The colliding part of an arm.

    Attributes:
        shape: `sphere`, with the robot's own tool radius, or `pad`, a flat plate.
        half_sizes: (3,) Half edges of the pad along the tool frame's axes, m; unused for a sphere.
    """

    shape: str = "sphere"
    half_sizes: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ArmNames:
    """Names under which an arm was added to a spec, for looking up its indices after compilation.

    Attributes:
        joints: (n,) In the robot's order.
        tool_geom: Colliding geom at the tool tip.
        link_geoms: Names of the geoms of the links' collision geometry, and of the links they belong to.
    """

    joints: tuple[str, ...]
    tool_geom: str
    link_geoms: dict[str, str]


def add_arm(
    spec: mujoco.MjSpec,
    robot: RobotModel,
    *,
    prefix: str = "",
    base: pin.SE3 | None = None,
    tip: ToolTip | None = None,
    motor_inertia: bool = True,
) -> ArmNames:
    """Add the robot to `spec`: joint placements and axes, link inertias, position limits, armature = B_theta.

    Links have the collision geometry of the robot's URDF. They and the tool tip collide with what the caller's bits and
    contact pairs say, here with nothing. Joint damping and friction are zero, as in the Pinocchio algebra.

    Args:
        spec: MuJoCo spec to extend, as `new_spec` makes it.
        robot: The arm, tool and locked joints included in its link inertias.
        prefix: Put before every name, so that several arms fit in one spec.
        base: Pose of the robot's base frame in the world.
        tip: Shape of the tool tip; a sphere of `robot.tool_radius` when None.
        motor_inertia: False leaves B_theta out, for links whose motors are simulated behind elastic joints.

    Raises:
        InvalidInputError: A tip without size.
    """
    tip = tip or ToolTip()
    model = robot.model
    root = spec.worldbody.add_body(name=f"{prefix}base")
    _place(root, pin.SE3.Identity() if base is None else base)
    bodies = [root]
    names: list[str] = []
    for index in range(1, model.njoints):
        parent = bodies[model.parents[index]]
        name = f"{prefix}{model.names[index]}"
        body = parent.add_body(name=f"{name}_link")
        _place(body, model.jointPlacements[index])
        set_inertia(body, model.inertias[index])
        _add_joint(body, robot, index, name, motor_inertia)
        bodies.append(body)
        names.append(name)
    frame = model.frames[robot.tool_frame_id]
    carrier = bodies[frame.parentJoint]
    tool_geom = _add_tip(carrier, f"{prefix}tool_tip", frame.placement, robot, tip)
    link_geoms = {}
    for index, part in enumerate(link_shapes(robot)):
        name = f"{prefix}{part.link}#{index}"
        _add_shape(spec, bodies[part.joint], name, part)
        link_geoms[name] = part.link
    return ArmNames(tuple(names), tool_geom, link_geoms)


def new_spec(robot: RobotModel) -> mujoco.MjSpec:
    """An empty spec in radians, with the gravity of the robot's model."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = robot.model.gravity.linear
    return spec


def compile_spec(spec: mujoco.MjSpec) -> mujoco.MjModel:
    """Compile, turning MuJoCo's complaint into this package's.

    Raises:
        InvalidInputError: MuJoCo refuses the model, for example an inertia that no body can have.
    """
    try:
        return spec.compile()
    except ValueError as error:
        raise InvalidInputError("model", "not simulated", f"one that MuJoCo accepts ({str(error).strip()})") from error


def _place(element: mujoco.MjsBody, placement: pin.SE3) -> None:
    element.pos = placement.translation
    element.quat = quaternion_wxyz(placement.rotation)


def quaternion_wxyz(rotation: Array) -> Array:
    """Unit quaternion (4,) in MuJoCo's order w, x, y, z."""
    x, y, z, w = pin.Quaternion(rotation).coeffs()
    return np.array([w, x, y, z])


def set_inertia(body: mujoco.MjsBody, inertia: pin.Inertia) -> None:
    """Give a body its mass, centre of mass and inertia."""
    # Diagonalised here, because MuJoCo's own eigen-solver stops at a looser tolerance.
    moments, axes = np.linalg.eigh(inertia.inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 2] *= -1.0
    body.explicitinertial = True
    body.mass = inertia.mass
    body.ipos = inertia.lever
    body.inertia = moments
    body.iquat = quaternion_wxyz(axes)


def _add_joint(body: mujoco.MjsBody, robot: RobotModel, index: int, name: str, motor_inertia: bool) -> None:
    model = robot.model
    joint = model.joints[index]
    data = joint.createData()
    joint.calc(data, np.zeros(joint.nq), np.zeros(joint.nv))
    motion = np.asarray(data.S).reshape(6, -1)[:, 0]
    slides = np.linalg.norm(motion[:3]) > 0.5
    lower, upper = model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q]
    bounded = bool(np.isfinite([lower, upper]).all() and lower < upper)
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE,
        axis=motion[:3] if slides else motion[3:],
        armature=float(robot.apparent_motor_inertia[joint.idx_v]) if motor_inertia else 0.0,
        limited=mujoco.mjtLimited.mjLIMITED_TRUE if bounded else mujoco.mjtLimited.mjLIMITED_FALSE,
        range=[lower, upper] if bounded else [0.0, 0.0],
    )


def _add_shape(spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, part: LinkShape) -> None:
    shape, kinds = part.shape, mujoco.mjtGeom
    if isinstance(shape, coal.Box):
        kind, size = kinds.mjGEOM_BOX, np.ravel(shape.halfSide).tolist()
    elif isinstance(shape, coal.Sphere):
        kind, size = kinds.mjGEOM_SPHERE, [shape.radius, 0.0, 0.0]
    elif isinstance(shape, coal.Capsule | coal.Cylinder):
        kind = kinds.mjGEOM_CAPSULE if isinstance(shape, coal.Capsule) else kinds.mjGEOM_CYLINDER
        size = [shape.radius, shape.halfLength, 0.0]
    else:
        spec.add_mesh(name=name, uservert=np.ravel(shape.points()))
        kind, size = kinds.mjGEOM_MESH, [0.0, 0.0, 0.0]
    mesh = {"meshname": name} if kind == kinds.mjGEOM_MESH else {"size": size}
    geom = body.add_geom(name=name, type=kind, contype=0, conaffinity=0, **mesh)
    _place(geom, part.placement)


def _add_tip(body: mujoco.MjsBody, name: str, placement: pin.SE3, robot: RobotModel, tip: ToolTip) -> str:
    if tip.shape == "sphere":
        if robot.tool_radius <= 0.0:
            raise InvalidInputError("tool radius", robot.tool_radius, "a radius > 0 m for a robot that touches things")
        kind, size = mujoco.mjtGeom.mjGEOM_SPHERE, [robot.tool_radius, 0.0, 0.0]
    else:
        kind, size = mujoco.mjtGeom.mjGEOM_BOX, list(tip.half_sizes)
    geom = body.add_geom(name=name, type=kind, size=size, contype=0, conaffinity=0)
    _place(geom, placement)
    return name
