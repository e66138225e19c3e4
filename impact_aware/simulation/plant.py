"""The plant: torque-driven arms, a table and an object in MuJoCo, one control cycle per step."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.control.braking import Braking
from impact_aware.control.parameters import ControlParameters
from impact_aware.errors import InvalidInputError, check_name
from impact_aware.robot import RobotModel
from impact_aware.simulation.belt import Belt
from impact_aware.simulation.impact_truth import ImpactObserver, ImpactTruth
from impact_aware.simulation.joint_elasticity import FlexibleDrive, JointElasticity, substeps_of
from impact_aware.simulation.link_gaps import LinkGaps
from impact_aware.simulation.mujoco_model import quaternion_wxyz
from impact_aware.simulation.scene import Scene
from impact_aware.simulation.sensors import JointReading, JointSensors, SensorSettings
from impact_aware.simulation.viewer import SceneViewer
from impact_aware.simulation.world import build_world

NEAR = 0.002
"""Gap below which every physics step is watched, m; more when a gap closes faster than half of this per cycle."""

LOOK_AHEAD = 0.05
"""Largest gap that is measured, m."""


class DriveMode(enum.Enum):
    """What drives an arm."""

    HOLD = "hold"
    """Before the first command: the robot's own brakes; the posture doesn't move."""
    TORQUE = "torque"
    """Commanded torques."""
    BRAKE = "brake"
    """Commands stopped: the robot's own reflex damps it to rest against gravity, then keeps that posture."""


@dataclass(frozen=True)
class PlantState:
    """The true state at the end of a cycle. Joint arrays hold the scene's arms one after the other.

    Attributes:
        time: s.
        q: (n,) Joint position, rad.
        dq: (n,) Joint velocity, rad/s.
        effort: (n,) What link-side torque sensors show, N m: applied torque less B_theta times the mean acceleration of
            the cycle; of flexible joints, the joint torque at the end of the cycle.
        object_placement: Pose of the object in the world.
        object_twist: (6,) Linear velocity of its centre and angular velocity, world axes, m/s and rad/s.
    """

    time: float
    q: Array
    dq: Array
    effort: Array
    object_placement: pin.SE3
    object_twist: Array


class MujocoPlant:
    """Arms in a scene. Deterministic: the same commands from the same start give the same bits.

    Attributes:
        scene: What was built.
        robots: Arm name -> robot that the plant simulates, with gravity as its base has it.
        n: Number of joints of all arms.
        joint_names: (n,) Names, `ARM/JOINT` with several arms.
        slices: Arm name -> its joints among those of all arms.
        modes: Arm name -> what drives it.
        state: The true state now.
        reading: What the sensors show now.
    """

    state: PlantState
    reading: JointReading

    def __init__(
        self,
        scene: Scene,
        robots: RobotModel | Mapping[str, RobotModel] | None = None,
        sensors: SensorSettings | None = None,
        *,
        elasticity: JointElasticity | Mapping[str, JointElasticity] | None = None,
    ) -> None:
        """Compile the scene and put every arm at its home.

        Args:
            scene: What to build.
            robots: One per arm, by name; one robot is used for every arm; None loads the profiles that the scene names.
            sensors: How readings come about; as they are when None.
            elasticity: Makes joints flexible, with motors and torque loop (Rey Arias 2024, eqs. 1-6): for every arm,
                or by arm name. Rigid joints with apparent motor inertia (eq. 9) when None.

        Raises:
            InvalidInputError: An arm without robot, a scene that MuJoCo refuses, or a torque loop whose period is no
                whole number of the scene's impact physics steps.
            UnknownNameError: Elasticity for an arm that the scene doesn't have.
        """
        if robots is None:
            robots = {arm.name: RobotModel.from_profile(arm.robot) for arm in scene.arms}
        elif isinstance(robots, RobotModel):
            robots = {arm.name: robots for arm in scene.arms}
        if isinstance(elasticity, JointElasticity):
            elasticity = {arm.name: elasticity for arm in scene.arms}
        elasticity = dict(elasticity or {})
        for name in elasticity:
            scene.arm(name)
        self.scene = scene
        missing = [arm.name for arm in scene.arms if arm.name not in robots]
        if missing:
            raise InvalidInputError("robots", sorted(robots), f"a robot for each of {missing}")
        robots = {arm.name: robots[arm.name].tilted(arm.placement.rotation) for arm in scene.arms}
        self._world = build_world(scene, robots, elastic=elasticity)
        self.robots = robots
        self._model = self._world.model
        self._data = mujoco.MjData(self._model)
        self._arms = self._world.arms
        self.slices = {name: arm.joints for name, arm in self._arms.items()}
        self.n = sum(robot.n for robot in self.robots.values())
        several = len(self.robots) > 1
        self.joint_names = tuple(
            f"{name}/{joint}" if several else joint
            for name, robot in self.robots.items()
            for joint in robot.joint_names
        )
        qpos = np.concatenate([arm.qpos for arm in self._arms.values()])
        dof = np.concatenate([arm.dof for arm in self._arms.values()])
        # Views, not copies: MuJoCo's arrays stay where they are, and all arm joints stand in one row behind the object.
        self._q = self._data.qpos[qpos[0] : qpos[-1] + 1]
        self._dq = self._data.qvel[dof[0] : dof[-1] + 1]
        self._bias = self._data.qfrc_bias[dof[0] : dof[-1] + 1]
        self._torque = self._data.qfrc_applied[dof[0] : dof[-1] + 1]
        self._pose = self._data.qpos[self._world.object_qpos]
        self._twist = self._data.qvel[self._world.object_dof]
        assert self._q.size == self._dq.size == self.n
        self._armature = np.concatenate([robot.apparent_motor_inertia for robot in self.robots.values()])
        self._effort_limit = np.concatenate([robot.limits.effort for robot in self.robots.values()])
        counts = [substeps_of(robots[name], joints, scene.cycle) for name, joints in elasticity.items()]
        self._elastic_substeps = min(max(counts, default=scene.impact_substeps), scene.impact_substeps)
        steps = (scene.cycle / self._elastic_substeps, scene.cycle / scene.impact_substeps)
        self._drives = {name: FlexibleDrive(joints, steps) for name, joints in elasticity.items()}
        for name in self._drives:
            self._armature[self.slices[name]] = 0.0
        self._sensors = JointSensors(sensors)
        self._belt = Belt(scene, self._world, self._data)
        self._observer, self._link_gaps = ImpactObserver(self._world, self._rigid_snapshot), LinkGaps(self._world)
        self.reset()

    def reset(
        self,
        q0: ArrayLike | None = None,
        *,
        dq0: ArrayLike | None = None,
        object_placement: pin.SE3 | None = None,
        seed: int = 0,
    ) -> PlantState:
        """Start over with every arm held at `q0`.

        Args:
            q0: (n,) Postures, one arm after the other, rad; every robot's home when None.
            dq0: (n,) Velocities, rad/s, for an episode that starts in motion: then the arms are in torque mode.
            object_placement: Pose of the object in the world; the scene's when None.
            seed: Seed of the sensors.

        Raises:
            InvalidInputError: Wrong shape, not finite, or outside the position limits.
        """
        home = np.concatenate([robot.home for robot in self.robots.values()])
        q = home if q0 is None else self._checked("q0", q0)
        dq = np.zeros(self.n) if dq0 is None else self._checked("dq0", dq0)
        for name, robot in self.robots.items():
            part = q[self.slices[name]]
            outside = (part < robot.model.lowerPositionLimit) | (part > robot.model.upperPositionLimit)
            if outside.any():
                joint = int(np.argmax(outside))
                low, high = robot.model.lowerPositionLimit[joint], robot.model.upperPositionLimit[joint]
                raise InvalidInputError(f"q0[{robot.joint_names[joint]}]", part[joint], f"{low:.4f} .. {high:.4f} rad")
        mujoco.mj_resetData(self._model, self._data)
        self._q[:] = q
        self._dq[:] = dq
        self._put_object(self.scene.object_placement if object_placement is None else object_placement)
        self._hold_posture = q.copy()
        self._braking = {name: Braking(arm, ControlParameters(), self.scene.cycle) for name, arm in self.robots.items()}
        self._gaps: dict[tuple[str, str, str], float] = {}
        self.modes = dict.fromkeys(self.robots, DriveMode.HOLD if dq0 is None else DriveMode.TORQUE)
        self._observer.clear()
        self._sensors.reset(seed)
        self._belt.start()
        mujoco.mj_forward(self._model, self._data)
        gravity = self._bias.copy()
        self._reset_drives(self._drives, gravity)
        return self._finish(gravity)

    @property
    def impacts(self) -> tuple[ImpactTruth, ...]:
        """Every impact so far whose compression is over, in order of first contact."""
        return self._observer.impacts()

    @property
    def motor_velocity(self) -> Array:
        """(n,) Of the motors behind the gears, rad/s: of rigid joints, the links'."""
        velocity = self._dq.copy()
        for name, drive in self._drives.items():
            velocity[self.slices[name]] = drive.motor_velocity
        return velocity

    @property
    def touching(self) -> tuple[tuple[str, str], ...]:
        """The pairs (arm, `object` or `table`) whose tools were in contact at the last look."""
        return tuple((arm, partner) for arm, partner, link in self._observer.touching if not link)

    @property
    def link_touches(self) -> tuple[tuple[str, str, str], ...]:
        """The triples (arm, `object` or `table`, link) of links other than the tool in contact at the last look."""
        return tuple(touch for touch in self._observer.touching if touch[2])

    def open_viewer(self) -> SceneViewer:
        """Open a window that shows this plant at each call of its `show`.

        Raises:
            InvalidInputError: There is no screen.
        """
        return SceneViewer(self._model, self._data)

    def step(self, effort: ArrayLike | None | Mapping[str, ArrayLike | None]) -> PlantState:
        """Advance one control cycle, torques held.

        Args:
            effort: (n,) Torques of all arms, N m, saturated at the effort limits; or a torque array per arm name. None,
                or an arm left out, is no command: that arm holds until its first command and brakes after it.

        Raises:
            InvalidInputError: Wrong shape or not finite.
            UnknownNameError: An arm that the scene doesn't have.
        """
        torque = self._commanded(effort)
        model, data, before = self._model, self._data, self._dq.copy()
        self._belt.keep(self._observer.touching)
        mujoco.mj_step1(model, data)
        for name, mode in self.modes.items():
            if mode is not DriveMode.TORQUE:
                torque[self.slices[name]] = self._own_torque(name, mode)
        self._torque[:] = torque
        self._advance(torque)
        held = [name for name, mode in self.modes.items() if mode is DriveMode.HOLD]
        for name in held:
            self._q[self.slices[name]] = self._hold_posture[self.slices[name]]
            self._dq[self.slices[name]] = 0.0
        self._reset_drives((name for name in held if name in self._drives), torque)
        measured = torque - self._armature * (self._dq - before) / self.scene.cycle
        for name, drive in self._drives.items():
            measured[self.slices[name]] = drive.torque
        return self._finish(measured)

    def place_object(self, placement: pin.SE3) -> None:
        """Put the object somewhere else, at rest, in the middle of a run; what it touched comes apart at once."""
        self._put_object(placement)
        self._twist[:] = 0.0
        mujoco.mj_forward(self._model, self._data)

    def tool_placement(self, arm: str | None = None) -> pin.SE3:
        """Pose of an arm's tool frame in the world; the first arm's when None."""
        name = next(iter(self.robots)) if arm is None else arm
        robot = self.robots[name]
        base: pin.SE3 = self.scene.arm(name).placement
        return base.act(robot.placement(self.state.q[self.slices[name]]))

    def _advance(self, torque: Array) -> None:
        """Make the cycle's physics steps; the first one's `mj_step1` is already done.

        They are finer with flexible joints, and finest when an impact may be going on; then each one is watched, too.
        """
        model, data, observer = self._model, self._data, self._observer
        observer.look(data)
        watch = self._must_watch()
        if not (watch or self._drives):
            mujoco.mj_step2(model, data)
            if self.scene.substeps > 1:
                mujoco.mj_step(model, data, self.scene.substeps - 1)
            return
        count = self.scene.impact_substeps if watch else self._elastic_substeps
        timestep = model.opt.timestep = self.scene.cycle / count
        for index in range(count):
            if index:
                mujoco.mj_step1(model, data)
                if watch:
                    observer.look(data)
            for name, drive in self._drives.items():
                part = self.slices[name]
                self._torque[part] = drive.step(torque[part], self._q[part], self._dq[part], timestep)
            mujoco.mj_step2(model, data)
            if watch:
                observer.accumulate(data, timestep)
        model.opt.timestep = self.scene.timestep

    def _reset_drives(self, names: Iterable[str], torque: Array) -> None:
        """Let the motors carry `torque` (all arms' joints) at the links' state."""
        for name in names:
            part = self.slices[name]
            self._drives[name].reset(self._q[part].copy(), self._dq[part].copy(), torque[part])

    def _must_watch(self) -> bool:
        """Whether something may begin or end within this cycle; a settled contact is looked at once per cycle."""
        watch = self._observer.unsettled(float(self._data.time)) or self._link_gaps.near(self._data, NEAR)
        touching = self._observer.touching
        for pair, geoms in self._observer.geoms.items():
            if pair in touching:
                continue
            gap = mujoco.mj_geomDistance(self._model, self._data, *geoms, LOOK_AHEAD, None)
            closing = self._gaps.get(pair, LOOK_AHEAD) - gap
            self._gaps[pair] = gap
            watch = watch or gap < max(NEAR, 2.0 * closing)
        return watch

    def _commanded(self, effort: ArrayLike | None | Mapping[str, ArrayLike | None]) -> Array:
        """Torque of the commanded arms (zeros elsewhere), and the modes that follow from who was commanded."""
        torque = np.zeros(self.n)
        if isinstance(effort, Mapping):
            for name in effort:
                check_name("arm", name, self.robots)
            parts = {name: effort.get(name) for name in self.robots}
        elif effort is None:
            parts = dict.fromkeys(self.robots)
        else:
            whole = self._checked("effort", effort)
            parts = {name: whole[part] for name, part in self.slices.items()}
        for name, part in parts.items():
            if part is not None:
                torque[self.slices[name]] = self.robots[name].check_configuration(part, "effort")
        for name, part in parts.items():
            if part is not None:
                self.modes[name] = DriveMode.TORQUE
            elif self.modes[name] is DriveMode.TORQUE:
                self.modes[name] = DriveMode.BRAKE
                self._braking[name].begin()
        return np.clip(torque, -self._effort_limit, self._effort_limit)

    def _own_torque(self, name: str, mode: DriveMode) -> Array:
        """Torque of the robot's own hold or brake, with the kinematics of the cycle's start."""
        robot, part = self.robots[name], self.slices[name]
        bias = self._bias[part].copy()
        if mode is DriveMode.HOLD:
            return bias
        q, dq = self._q[part].copy(), self._dq[part].copy()
        mass_matrix = robot.mass_matrix(q)
        torque = bias + mass_matrix @ self._braking[name].acceleration(float(self._data.time), q, dq, mass_matrix)
        return np.clip(torque, -robot.limits.effort, robot.limits.effort)

    def _snapshot(self) -> tuple[Array, Array, Array]:
        twist = self._twist.copy()
        # MuJoCo keeps a free body's angular velocity in its own axes.
        mujoco.mju_rotVecQuat(twist[3:], self._twist[3:], self._pose[3:])
        return self._q.copy(), self._dq.copy(), twist

    def _rigid_snapshot(self) -> tuple[Array, Array, Array]:
        """A snapshot with the rigid-body part of the velocities of flexible joints, without their swinging."""
        q, dq, twist = self._snapshot()
        for name, drive in self._drives.items():
            part = self.slices[name]
            dq[part] = drive.rigid_velocity(self.robots[name].mass_matrix(q[part], "M"), dq[part])
        return q, dq, twist

    def _put_object(self, placement: pin.SE3) -> None:
        self._link_gaps.clear()
        self._pose[:3] = placement.translation
        self._pose[3:] = quaternion_wxyz(placement.rotation)

    def _finish(self, effort: Array) -> PlantState:
        """The new state, which the sensors read."""
        q, dq, twist = self._snapshot()
        x, y, z, qw, qx, qy, qz = self._pose.tolist()
        # MuJoCo normalises the quaternion in every step, so that the pose can be taken as it is.
        placement = pin.XYZQUATToSE3([x, y, z, qx, qy, qz, qw])
        self.state = PlantState(float(self._data.time), q, dq, effort, placement, twist)
        self.reading = self._sensors.read(self.state.time, q, dq, effort)
        return self.state

    def _checked(self, field: str, values: ArrayLike) -> Array:
        array = np.asarray(values, dtype=float)
        if array.shape != (self.n,):
            raise InvalidInputError(field, f"{array.size} values", f"{self.n} ({', '.join(self.joint_names)})")
        if not np.isfinite(array).all():
            raise InvalidInputError(field, array.tolist(), "finite values")
        return array
