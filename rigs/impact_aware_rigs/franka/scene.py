"""franky-sim's MuJoCo arm with a spherical tool and a task's object, in physics steps of a quarter of a millisecond."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

import mujoco
import numpy as np
from franky_sim.mujoco_simulator import FrankaMujocoRobot, MujocoSimulator

from impact_aware.arrays import Array
from impact_aware.robot.profile import Tool, load_profile
from impact_aware.simulation.scene import ContactSettings, Scene
from impact_aware.simulation.task_scene import task_scene
from impact_aware.task import load_task
from impact_aware_rigs.franka.options import PERIOD, ArmOptions

SUBSTEPS = 4
"""Physics steps per cycle of the arm."""

HOLD_RATE = 30.0
"""Bandwidth of the arm's position hold between motions, rad/s."""

PREFIX = "robot0_"
TCP_IN_HAND = 0.1034
"""Distance of the tool centre point from the hand's origin along its z axis, m."""


class ArmScene(MujocoSimulator):
    """The arm, its tool, the ground and the object.

    Attributes:
        robot: franky-sim's arm.
        dofs: (7,) Indices of its joints into qvel.
        link_torque: (7,) Torque between motor and link at the end of the last step, N m.
        external: (7,) Torque that contacts and a person exert on the links, N m.
        pull: (7,) Torque that a person exerts on the joints, N m.
        cycle: Number of the present cycle.
        contacts: Begins of contact between tool and object, cycles.
    """

    robot: FrankaMujocoRobot

    def __init__(self, options: ArmOptions) -> None:
        """Describe the scene; MuJoCo compiles it at the start."""
        super().__init__()
        self._options = options
        self.robot = self.add_robot(initial_q=options.posture, initial_hand_width=0.0)
        self.external, self.link_torque, self.pull = np.zeros(7), np.zeros(7), np.zeros(7)
        self.contacts: list[float] = []
        self.cycle, self._touching = 0, False
        tool = load_profile(options.robot).tool
        if tool is None:
            raise ValueError(f"the profile {options.robot} has no tool")
        self._add_tool(tool)
        if options.task:
            self._add_object(_task_scene(options))

    def _add_tool(self, tool: Tool) -> None:
        hand = next(body for body in self.worldbody.iter("body") if body.get("name") == f"{PREFIX}hand")
        x, y, z = tool.position
        carrier = ET.SubElement(hand, "body", name="tool", pos=_text((x, y, z + TCP_IN_HAND)))
        centre = np.subtract(tool.center_of_mass, tool.position)
        inertia = _text(tool.inertia_diagonal)
        ET.SubElement(carrier, "inertial", pos=_text(centre), mass=str(tool.mass), diaginertia=inertia)
        tip = ET.SubElement(carrier, "geom", name="tip", type="sphere", size=str(tool.radius))
        tip.attrib |= {"contype": "0", "conaffinity": "0"}

    def _add_object(self, scene: Scene) -> None:
        item = scene.object
        body = ET.SubElement(self.worldbody, "body", name="object", pos=_text(item.position))
        turn = scene.object_placement.rotation
        ET.SubElement(body, "freejoint", name="object")
        moments = np.diag(item.solid.inertia(item.mass))
        ET.SubElement(body, "inertial", pos="0 0 0", mass=str(item.mass), diaginertia=_text(moments))
        ET.SubElement(body, "geom", name="object", type="box", size=_text(item.half_sizes))
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(turn).ravel())
        body.set("quat", _text(quaternion))
        contact = self.scene.find("contact")
        assert contact is not None
        for first, second, settings in (("tip", "object", scene.tool_object), ("object", "ground", scene.object_table)):
            ET.SubElement(contact, "pair", geom1=first, geom2=second).attrib |= _pair(settings)

    def _start(self) -> None:
        option = self.scene.find("option")
        assert option is not None
        option.set("cone", "elliptic")
        super()._start()
        model, data = self.model, self.data
        assert model is not None and data is not None
        model.opt.timestep = PERIOD / SUBSTEPS
        self.dofs = np.array(self.robot._dof_addrs)
        self._positions = np.array(self.robot._qpos_addrs)
        self._armature = model.dof_armature[self.dofs].copy()
        model.dof_frictionloss[self.dofs] *= self._options.joint_friction
        model.dof_damping[self.dofs] *= self._options.joint_friction
        names = ("tip", "object") if self._options.task else ()
        self._pair = frozenset(model.geom(name).id for name in names)
        self._tip = model.body("tool").id
        self.place()

    def place(self) -> None:
        """Put the arm and the object where they begin, at rest."""
        data = self.data
        mujoco.mj_resetData(self.model, data)
        data.qpos[self._positions] = self._options.posture
        mujoco.mj_forward(self.model, data)
        self._touching, self.pull = False, np.zeros(7)

    def put_back(self) -> None:
        """Put the object where it began, at rest."""
        if self._pair:
            free = self.data.joint("object")
            free.qpos[:], free.qvel[:] = self.model.qpos0[self.model.joint("object").qposadr[0] :][:7], 0.0

    def _step(self) -> None:
        """Advance by one cycle of the arm."""
        model, data = self.model, self.data
        assert model is not None and data is not None
        driven = data.qfrc_applied[self.dofs].copy()
        data.qfrc_applied[self.dofs] += self.pull
        for step in range(SUBSTEPS):
            mujoco.mj_step(model, data)
            touching = self._touches(data)
            if touching and not self._touching:
                self.contacts.append(self.cycle + step / SUBSTEPS)
            self._touching = touching
        data.qfrc_applied[self.dofs] = driven
        self._measure(data, driven)

    def _touches(self, data: mujoco.MjData) -> bool:
        pairs = data.contact.geom[data.contact.dist < 0.0] if data.ncon else ()
        return any(frozenset(pair.tolist()) == self._pair for pair in pairs)

    def _measure(self, data: mujoco.MjData, driven: Array) -> None:
        """Split what acts on the joints: motors with their inertia and friction on one side, links on the other."""
        friction = np.zeros(data.qvel.size)
        rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF
        friction[data.efc_id[rows]] = data.efc_force[rows]
        lost = friction[self.dofs] + data.qfrc_passive[self.dofs]
        self.link_torque = driven + lost - self._armature * data.qacc[self.dofs]
        self.external = data.qfrc_constraint[self.dofs] - friction[self.dofs] + self.pull

    def tool_jacobian(self) -> Array:
        """(6, 7) Jacobian of the tool's centre, linear above angular, base frame."""
        linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        mujoco.mj_jacBody(self.model, self.data, linear, angular, self._tip)
        return np.vstack((linear[:, self.dofs], angular[:, self.dofs]))

    def hold_torque(self, posture: Array) -> Array:
        """Torque (7,), N m, of the arm's own hold, critically damped: with franky-sim's the wrist oscillates."""
        wanted, torque = np.zeros(self.model.nv), np.zeros(self.model.nv)
        wanted[self.dofs] = HOLD_RATE**2 * (posture - self.q) - 2.0 * HOLD_RATE * self.dq
        mujoco.mj_mulM(self.model, self.data, torque, wanted)
        return torque[self.dofs]

    @property
    def q(self) -> Array:
        """(7,) Joint positions, rad."""
        return np.array(self.data.qpos[self._positions])

    @property
    def dq(self) -> Array:
        """(7,) Joint velocities, rad/s."""
        return np.array(self.data.qvel[self.dofs])

    @property
    def armature(self) -> tuple[float, ...]:
        """(7,) Apparent motor inertia of the simulated joints, kg m^2."""
        return tuple(self._armature.tolist())

    @property
    def object_pose(self) -> tuple[float, ...]:
        """Position, m, and quaternion w, x, y, z of the object in the base frame; empty without one."""
        return tuple(self.data.joint("object").qpos.tolist()) if self._pair else ()

    @property
    def still(self) -> bool:
        """Whether nothing moves."""
        return not np.any(np.abs(self.data.qvel) > 1e-4)


def _task_scene(options: ArmOptions) -> Scene:
    return task_scene(load_task(options.task, options.changes), options.truth)


def _pair(settings: ContactSettings) -> dict[str, str]:
    """Attributes of a contact pair, as the suite's own plant sets them."""
    slip = settings.friction
    return {
        "friction": _text((slip, slip, 1e-9, 1e-9, 1e-9)),
        "solref": _text((settings.time_constant, settings.damping_ratio)),
        "solreffriction": _text((settings.friction_time_constant, 1.0)),
        "solimp": _text((settings.impedance, settings.impedance, 0.001, 0.5, 2.0)),
        "condim": "3",
    }


def _text(numbers: Sequence[float] | Array) -> str:
    return " ".join(f"{number:.12g}" for number in numbers)
