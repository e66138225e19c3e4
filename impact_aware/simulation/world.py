"""A scene compiled for MuJoCo, with the indices that a plant needs."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.simulation.mujoco_model import (
    ArmNames,
    add_arm,
    compile_spec,
    new_spec,
    quaternion_wxyz,
    set_inertia,
)
from impact_aware.simulation.scene import ContactSettings, Scene
from impact_aware.task.clearance import table_board

OBJECT = "object"
TABLE = "table"
BOARD = "board"
BELT, BELT_JOINTS = "belt", ("belt_x", "belt_y")

_OBSTACLE = 1 << 16
"""Collision bit of object and table; those of the arms are 1, 2, 4, and so on."""

BELT_MASS = 1e6
"""No object changes the velocity of a belt, kg."""

BELT_SIZE = (5.0, 5.0, 0.05)
"""Half edges of what is a belt, m: it does not run off within half a minute."""


@dataclass(frozen=True)
class ArmIndices:
    """Where one arm is in MuJoCo's arrays, and in concatenated joint arrays.

    Attributes:
        qpos: (n,) Indices into qpos.
        dof: (n,) Indices into qvel.
        joints: Slice of the scene's concatenated joint arrays.
        tool_geom: Index of the colliding tip.
        link_geoms: Indices of the geoms of its links, and the links they belong to.
    """

    qpos: NDArray[np.intp]
    dof: NDArray[np.intp]
    joints: slice
    tool_geom: int
    link_geoms: dict[int, str]


@dataclass(frozen=True)
class World:
    """A compiled scene.

    Attributes:
        model: The MuJoCo model.
        arms: Indices of each arm, by name, in the scene's order.
        object_qpos: Slice of the object's pose (7) in qpos.
        object_dof: Slice of the object's velocity (6) in qvel: linear in world axes, angular in object axes.
        object_geom: Geom index of the object.
        table_geom: Geom index of the table top, which the object and tools meet and which has no end.
        board_geom: Geom index of the part of the table under the object's way, which links meet.
        belt_dof: (2,) Indices into qvel of the velocities of a belt along its axes; None of a table that stands.
    """

    model: mujoco.MjModel
    arms: dict[str, ArmIndices]
    object_qpos: slice
    object_dof: slice
    object_geom: int
    table_geom: int
    board_geom: int
    belt_dof: NDArray[np.intp] | None = None


def build_world(scene: Scene, robots: Mapping[str, RobotModel], *, elastic: Container[str] = ()) -> World:
    """Compile the scene.

    Args:
        scene: What stands where.
        robots: Arm name -> robot, with gravity as its base has it, for every arm of the scene.
        elastic: Arms whose motors are simulated apart, so that their links carry no motor inertia.

    Raises:
        InvalidInputError: Robots that disagree about gravity.
    """
    spec = new_spec(robots[scene.arms[0].name])
    _set_options(spec, scene, robots)
    table = _add_table(spec, scene)
    _add_object(spec, scene)
    names = {
        arm.name: add_arm(
            spec,
            robots[arm.name],
            prefix=f"{arm.name}/",
            base=arm.placement,
            tip=arm.tip,
            motor_inertia=arm.name not in elastic,
        )
        for arm in scene.arms
    }
    _add_pair(spec, OBJECT, table.name, scene.object_table)
    for index, arm_names in enumerate(names.values()):
        _add_pair(spec, arm_names.tool_geom, OBJECT, scene.tool_object)
        _add_pair(spec, arm_names.tool_geom, table.name, scene.tool_table)
        _let_collide(spec, index, arm_names, scene.tool_table)
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
            link_geoms={model.geom(name).id: link for name, link in arm_names.link_geoms.items()},
        )
        first += len(joints)
    joint = model.joint(OBJECT)
    return World(
        model=model,
        arms=arms,
        object_qpos=slice(int(joint.qposadr[0]), int(joint.qposadr[0]) + 7),
        object_dof=slice(int(joint.dofadr[0]), int(joint.dofadr[0]) + 6),
        object_geom=model.geom(OBJECT).id,
        table_geom=model.geom(TABLE).id,
        board_geom=model.geom(BOARD).id,
        belt_dof=np.array([model.joint(name).dofadr[0] for name in BELT_JOINTS]) if scene.belt_moves else None,
    )


def _set_options(spec: mujoco.MjSpec, scene: Scene, robots: Mapping[str, RobotModel]) -> None:
    down = -float(np.linalg.norm(robots[scene.arms[0].name].model.gravity.linear))
    for arm in scene.arms:
        gravity = arm.placement.rotation @ robots[arm.name].model.gravity.linear
        if not np.allclose(gravity, [0.0, 0.0, down], rtol=0.0, atol=1e-9):
            raise InvalidInputError("gravity", gravity.tolist(), "one vertical gravity for all robots")
    spec.option.gravity = [0.0, 0.0, down]
    spec.option.timestep = scene.timestep
    # The elliptic cone is Coulomb's; the pyramid lets friction depend on direction.
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.tolerance = 1e-9


def _add_table(spec: mujoco.MjSpec, scene: Scene) -> mujoco.MjsGeom:
    """The table top: an endless plane, or a belt, a large board that slides."""
    placement = scene.table_placement
    place = {"pos": placement.translation, "quat": quaternion_wxyz(placement.rotation)}
    centre, reach = scene.object_placement.translation, scene.object.solid.reach
    board, half = table_board(placement, centre, np.array(scene.travel), reach)
    spec.worldbody.add_geom(
        name=BOARD, type=mujoco.mjtGeom.mjGEOM_BOX, size=half, pos=board.translation,
        quat=quaternion_wxyz(board.rotation), contype=_OBSTACLE, conaffinity=0,
    )  # fmt: skip
    apart = {"name": TABLE, "contype": 0, "conaffinity": 0}
    if not scene.belt_moves:
        # A plane has no end for contacts.
        return spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1.5, 1.5, 0.05], **place, **apart)
    belt = spec.worldbody.add_body(name=BELT, **place)
    belt.explicitinertial, belt.gravcomp = True, 1.0
    belt.mass, belt.inertia, belt.ipos = BELT_MASS, np.full(3, BELT_MASS), np.zeros(3)
    belt.iquat = quaternion_wxyz(np.eye(3))
    for axis, name in enumerate(BELT_JOINTS):
        belt.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=np.eye(3)[axis])
    x, y, z = BELT_SIZE
    return belt.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[x, y, z], pos=[0.0, 0.0, -z], **apart)


def _add_object(spec: mujoco.MjSpec, scene: Scene) -> None:
    placement = scene.object_placement
    body = spec.worldbody.add_body(name=OBJECT)
    body.pos = placement.translation
    body.quat = quaternion_wxyz(placement.rotation)
    body.add_freejoint(name=OBJECT)
    shape = scene.object.solid
    # Left out, MuJoCo takes the body's own position for the centre of mass.
    set_inertia(body, pin.Inertia(scene.object.mass, np.zeros(3), shape.inertia(scene.object.mass)))
    kind, size = _GEOMS[shape.name]
    apart = {"name": OBJECT, "type": kind, "contype": _OBSTACLE, "conaffinity": 0}
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        spec.add_mesh(name=OBJECT, uservert=shape.vertices.ravel())
        body.add_geom(meshname=OBJECT, **apart)
    else:
        body.add_geom(size=size(shape.half_extents), **apart)


_GEOMS: dict[str, tuple[mujoco.mjtGeom, Callable[[Array], list[float]]]] = {
    "box": (mujoco.mjtGeom.mjGEOM_BOX, lambda half: half.tolist()),
    "cylinder": (mujoco.mjtGeom.mjGEOM_CYLINDER, lambda half: [half[0], half[2], 0.0]),
    "hull": (mujoco.mjtGeom.mjGEOM_MESH, lambda half: []),
}
"""Type of geometry in MuJoCo by shape, and its sizes from the half extents (3,), m."""


def _let_collide(spec: mujoco.MjSpec, index: int, names: ArmNames, contact: ContactSettings) -> None:
    """Let an arm's links collide with object, table and other arms, and its tool with other arms."""
    others = _OBSTACLE - 1 - (1 << index)
    for name in (names.tool_geom, *names.link_geoms):
        geom = spec.geom(name)
        geom.contype, geom.conaffinity = 1 << index, others if name == names.tool_geom else others | _OBSTACLE
        geom.condim, geom.priority = 3, 1
        geom.friction = [contact.friction, 1e-9, 1e-9]
        geom.solref = [contact.time_constant, contact.damping_ratio]
        geom.solimp = [contact.impedance, contact.impedance, 1e-3, 0.5, 2.0]


def _add_pair(spec: mujoco.MjSpec, first: str, second: str, contact: ContactSettings) -> None:
    # MuJoCo wants positive coefficients even in dimensions that it leaves out.
    sliding = max(contact.friction, 1e-9)
    spec.add_pair(
        geomname1=first,
        geomname2=second,
        condim=3 if contact.friction > 0.0 else 1,
        friction=[sliding, sliding, 1e-9, 1e-9, 1e-9],
        solref=[contact.time_constant, contact.damping_ratio],
        solreffriction=[contact.friction_time_constant, 1.0],
        solimp=[contact.impedance, contact.impedance, 1e-3, 0.5, 2.0],
    )
