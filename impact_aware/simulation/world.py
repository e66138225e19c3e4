"""A scene compiled for MuJoCo, with the indices of everything that plants and pictures ask for."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.simulation.mujoco_model import add_arm, compile_spec, new_spec, quaternion_wxyz
from impact_aware.simulation.scene import ContactSettings, Scene

OBJECT = "object"
TABLE = "table"


@dataclass(frozen=True)
class ArmIndices:
    """Where one arm is in MuJoCo's arrays, and in concatenated joint arrays.

    Attributes:
        qpos: (n,) Indices into qpos.
        dof: (n,) Indices into qvel.
        joints: Slice of the scene's concatenated joint arrays.
        tool_geom: Index of the colliding tip.
        tool_body: Body that carries it.
        tool_site: Site at the tool frame.
    """

    qpos: NDArray[np.intp]
    dof: NDArray[np.intp]
    joints: slice
    tool_geom: int
    tool_body: int
    tool_site: int


@dataclass(frozen=True)
class World:
    """A compiled scene.

    Attributes:
        model: The MuJoCo model.
        arms: Indices of each arm, by name, in the scene's order.
        object_qpos: Slice of the object's pose (7) in qpos.
        object_dof: Slice of the object's velocity (6) in qvel: linear in world axes, angular in object axes.
        object_body: Body index of the object.
        object_geom: Geom index of the object.
        table_geom: Geom index of the table top.
    """

    model: mujoco.MjModel
    arms: dict[str, ArmIndices]
    object_qpos: slice
    object_dof: slice
    object_body: int
    object_geom: int
    table_geom: int


def build_world(
    scene: Scene, robots: Mapping[str, RobotModel], *, elastic: Container[str] = (), visual: bool = False
) -> World:
    """Compile the scene.

    Args:
        scene: What stands where.
        robots: Arm name -> robot, for every arm of the scene.
        elastic: Arms whose motors are simulated apart, so that their links carry no motor inertia.
        visual: Add links, light and colours for pictures.

    Raises:
        InvalidInputError: An arm without robot, or robots that disagree about gravity.
    """
    missing = [arm.name for arm in scene.arms if arm.name not in robots]
    if missing:
        raise InvalidInputError("robots", sorted(robots), f"a robot for each of {missing}")
    spec = new_spec(robots[scene.arms[0].name])
    _set_options(spec, scene, robots)
    table = spec.worldbody.add_geom(
        name=TABLE,
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        # A plane has no end for contacts; its size and middle are for pictures only.
        size=[1.5, 1.5, 0.05] if scene.table_height == 0.0 else [0.25, 0.5, 0.05],
        pos=[*scene.object.position[:2], scene.table_height],
        contype=0,
        conaffinity=0,
        rgba=[0.55, 0.58, 0.60, 1.0],
    )
    _add_object(spec, scene)
    names = {
        arm.name: add_arm(
            spec,
            robots[arm.name],
            prefix=f"{arm.name}/",
            base=arm.placement,
            tip=arm.tip,
            motor_inertia=arm.name not in elastic,
            visual=visual,
        )
        for arm in scene.arms
    }
    _add_pair(spec, OBJECT, table.name, scene.object_table)
    for arm_names in names.values():
        _add_pair(spec, arm_names.tool_geom, OBJECT, scene.tool_object)
        _add_pair(spec, arm_names.tool_geom, table.name, scene.tool_table)
    if visual:
        _add_surroundings(spec, scene)
    model = compile_spec(spec)
    arms: dict[str, ArmIndices] = {}
    first = 0
    for name, arm_names in names.items():
        joints = [model.joint(joint) for joint in arm_names.joints]
        geom = model.geom(arm_names.tool_geom)
        arms[name] = ArmIndices(
            qpos=np.array([joint.qposadr[0] for joint in joints], dtype=np.intp),
            dof=np.array([joint.dofadr[0] for joint in joints], dtype=np.intp),
            joints=slice(first, first + len(joints)),
            tool_geom=geom.id,
            tool_body=int(geom.bodyid[0]),
            tool_site=model.site(arm_names.tool_site).id,
        )
        first += len(joints)
    joint = model.joint(OBJECT)
    return World(
        model=model,
        arms=arms,
        object_qpos=slice(int(joint.qposadr[0]), int(joint.qposadr[0]) + 7),
        object_dof=slice(int(joint.dofadr[0]), int(joint.dofadr[0]) + 6),
        object_body=model.body(OBJECT).id,
        object_geom=model.geom(OBJECT).id,
        table_geom=model.geom(TABLE).id,
    )


def _set_options(spec: mujoco.MjSpec, scene: Scene, robots: Mapping[str, RobotModel]) -> None:
    gravities = [np.array(robots[arm.name].model.gravity.linear) for arm in scene.arms]
    for gravity in gravities:
        if not np.array_equal(gravity, gravities[0]) or np.any(gravity[:2]):
            raise InvalidInputError("gravity", gravity.tolist(), "one vertical gravity for all robots")
    spec.option.timestep = scene.timestep
    # The elliptic cone is Coulomb's; the pyramid lets friction depend on direction.
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.tolerance = 1e-9


def _add_object(spec: mujoco.MjSpec, scene: Scene) -> None:
    placement = scene.object_placement
    body = spec.worldbody.add_body(name=OBJECT)
    body.pos = placement.translation
    body.quat = quaternion_wxyz(placement.rotation)
    body.add_freejoint(name=OBJECT)
    half = np.array(scene.object.half_sizes)
    squares = half**2
    body.explicitinertial = True
    body.mass = scene.object.mass
    # Left out, MuJoCo takes the body's own position for the centre of mass.
    body.ipos = np.zeros(3)
    body.iquat = quaternion_wxyz(np.eye(3))
    body.inertia = scene.object.mass / 3.0 * (squares.sum() - squares)
    body.add_geom(
        name=OBJECT,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=half,
        contype=0,
        conaffinity=0,
        rgba=[0.25, 0.50, 0.75, 1.0],
    )


def _add_surroundings(spec: mujoco.MjSpec, scene: Scene) -> None:
    spec.worldbody.add_light(pos=[1.5, -1.0, 2.5], dir=[-0.4, 0.3, -1.0])
    spec.visual.headlight.ambient = [0.4, 0.4, 0.4]
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=[0.95, 0.96, 0.98],
        width=16,
        height=96,
    )
    if scene.table_height != 0.0:
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_PLANE,
            size=[2.0, 2.0, 0.05],
            contype=0,
            conaffinity=0,
            rgba=[0.75, 0.76, 0.78, 1.0],
        )


def _add_pair(spec: mujoco.MjSpec, first: str, second: str, contact: ContactSettings) -> None:
    if contact.friction == 0.0:
        dimensions = 1
    else:
        dimensions = 4 if contact.torsional_friction > 0.0 else 3
    # MuJoCo wants positive coefficients even in dimensions that it leaves out.
    sliding, spinning = max(contact.friction, 1e-9), max(contact.torsional_friction, 1e-9)
    spec.add_pair(
        geomname1=first,
        geomname2=second,
        condim=dimensions,
        friction=[sliding, sliding, spinning, 1e-9, 1e-9],
        solref=[contact.time_constant, contact.damping_ratio],
        solreffriction=[contact.friction_time_constant, 1.0],
        solimp=[contact.impedance, contact.impedance, 1e-3, 0.5, 2.0],
    )
