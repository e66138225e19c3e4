"""Node `sim_robot`: the simulated plant. Commands in; joint states, object poses and truth out.

It simulates the arms of a task: one, or several whose topics are below their names. In lockstep it goes on when new
commands for every arm, and the `step_done` of every participant for its last state, have come; when a participant dies
it stops waiting and keeps wall time, so that the remaining nodes can bring the arms to rest. Free-running it keeps
wall time from the start. Torques that stop make an arm brake, as a robot's own reflex does; one whose laws
(`local_law`) stop damps itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.messages.geometry import write_twist
from impact_aware.nodes.arm_inputs import ArmInput, EffortInput, LawInput
from impact_aware.nodes.lockstep import LockstepGate
from impact_aware.nodes.plant_arm import PlantArm, plant_states
from impact_aware.nodes.plant_time import LOOKS, SimulatedClock, WallPace
from impact_aware.nodes.pushed_object import pose_message
from impact_aware.parameters import described
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import PLANTS, SIMULATED_INTERFACES
from impact_aware.ros.diagnostics import ERROR, OK, WARN, DiagnosticsReporter, Report
from impact_aware.ros.liveness import TwinWatch
from impact_aware.ros.messages import stamp
from impact_aware.ros.readiness import Readiness
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware.ros.timers import steady_timer
from impact_aware.simulation import DriveMode, MujocoPlant, SensorSettings
from impact_aware.simulation.joint_elasticity import STIFFNESS, JointElasticity
from impact_aware.simulation.task_scene import Truth, task_scene
from impact_aware.task import Task, load_task, start_posture
from impact_aware.task.arms import Arm, arms_of_task, frame_names

HOLD_PERIOD = 0.002
"""Wall time between two states in lockstep without commands, s: starting nodes need the processor too."""

HOLD_PATIENCE = 0.1
"""Longest wall time between two states in lockstep without commands, s."""

FASTEST_BELT = 1.0
"""Highest speed of the conveyor belt, m/s."""

COMMAND_PATIENCE = 1.0
"""Wall time in lockstep without a command to a state that all have answered, after which commands have ended, s."""

LOOK_AROUND = 1.0
"""Wall time for which a plant searches for another one before it publishes states, s."""

SPEED_WINDOW = 1.0
"""Wall time over which the real-time factor is measured, s."""

LOCKSTEP_TIMEOUT = 30.0
"""Longest wait in lockstep for a participant that is alive, s of wall time."""

POSE_PERIOD = 0.01
"""Time between two object poses, s."""

SLOW = 0.95
"""Real-time factor below which a free-running plant reports that it is slow."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    robot: str = described("panda", "robot profile of a single arm; several have those of the task")
    task: str = described("hit_and_push", "task whose object and start posture are simulated, by name or file")
    displacement: list[float] = described([0.0, 0.0, 0.0], "how far the object truly is from the task's position, m")
    turn: float = described(0.0, "by how much it is truly turned from there about the vertical, rad", -3.2, 3.2)
    belt: list[float] = described(
        [0.0, 0.0], "x and y of the velocity with which a belt carries it until a tool meets it, m/s; zeros: a table"
    )
    start: list[float] = described([], "start posture of all arms, arm after arm, rad; empty: the task's")
    start_time: float = described(1.0, "simulated time at the start, s", 0.0, 1e9)
    lockstep: bool = described(False, "wait for the controller instead of keeping wall time")
    lockstep_participants: list[str] = described([], "nodes whose step_done is waited for, besides a new command")
    period: float = described(0.0, "time between two states, s, and of the torques; 0: that of the scene", 0.0, 0.1)
    command_interface: str = described("effort", "what the arms are commanded by", choices=SIMULATED_INTERFACES)
    command_timeout: float = described(0.1, "time without a torque after which the arm brakes, s", 0.001, 10.0)
    encoder_resolution: float = described(0.0, "positions are rounded to multiples of this, rad", 0.0, 0.1)
    position_noise: float = described(0.0, "standard deviation of positions, rad", 0.0, 0.1)
    velocity_noise: float = described(0.0, "standard deviation of velocities, rad/s", 0.0, 1.0)
    effort_noise: float = described(0.0, "standard deviation of efforts, N m", 0.0, 100.0)
    delay: int = described(0, "cycles by which joint states are old", 0, 100)
    plant: str = described(PLANTS[0], "joints: elastic with motors and torque loop, or rigid", choices=PLANTS)
    joint_stiffness: float = described(STIFFNESS, "of every flexible joint, N m/rad", 100.0, 1e6)
    seed: int = described(0, "seed of the sensor noise", 0, 2**31 - 1)
    viewer: bool = described(False, "show the scene in a window while it runs")


class SimRobotNode(Node):
    """A MuJoCo plant behind the topics of real arms."""

    def __init__(self, **ros: Any) -> None:
        """Build the plant; the arms hold until the first command; `ros` goes to rclpy's node."""
        super().__init__("sim_robot", **ros)
        self._settings = settings = load_settings(self, Settings)
        self._twins = TwinWatch(self, "this one publishes no states until that has ended")
        self._readiness = Readiness(self)
        self._begun = False
        self._look_until = time.monotonic() + LOOK_AROUND
        task = load_task(settings.task)
        arms = arms_of_task(task, settings.robot)
        self._frame = frame_names(task, arms)[0]
        self.plant = self._build_plant(task, arms)
        self._viewer = self.plant.open_viewer() if settings.viewer else None
        self._cycle = self.plant.scene.cycle
        self._object_name = self.plant.scene.object.name
        self.arms = {
            name: PlantArm(self, arm, self.plant.slices[name], self._input(arm, self.plant.slices[name]))
            for name, arm in zip(self.plant.robots, arms, strict=True)
        }
        self._state_publishers = plant_states(self, arms, list(self.plant.slices.values()))
        self._commanded = False
        self._waiting = settings.lockstep
        self._last_step = time.monotonic()
        self._pace = WallPace(self._cycle)
        self._speed = math.nan
        self._speed_start = (self._last_step, self.plant.state.time)
        self._published_impacts = self._states = 0
        self._next_pose = -math.inf
        self._graph_complete = not settings.lockstep
        self._simulated_clock = SimulatedClock(self, self._cycle)
        self._pose_publisher = self.create_publisher(PoseStamped, "object_pose", 10)
        self._twist_publisher = self.create_publisher(TwistStamped, "object_twist", 10)
        self._gate: LockstepGate | None = None
        if settings.lockstep:
            participants = settings.lockstep_participants
            self._gate = LockstepGate(self, participants, on_answer=self._go_on_if_complete, on_loss=self._on_loss)
        period = HOLD_PERIOD if settings.lockstep else self._cycle / LOOKS
        self._timer = steady_timer(self, period, self._on_tick)
        self._diagnostics = DiagnosticsReporter(self, self._status, period=0.1)
        how = "in lockstep" if settings.lockstep else "in wall time"
        robots = ", ".join(f"{arm.robot.name} {arm.prefix}".strip() for arm in arms)
        self.get_logger().info(f"simulating {robots} in scene {self.plant.scene.name} {how}")

    def _build_plant(self, task: Task, arms: Sequence[Arm]) -> MujocoPlant:
        """The plant in its start posture.

        Raises:
            InvalidInputError: A displacement, belt or start that can't be used.
        """
        settings = self._settings
        if len(settings.displacement) != 3:
            raise InvalidInputError("parameter displacement", settings.displacement, "three lengths, m")
        x, y, z = settings.displacement
        if len(settings.belt) != 2 or not np.abs(settings.belt).max() <= FASTEST_BELT:
            raise InvalidInputError("parameter belt", settings.belt, f"two speeds, {FASTEST_BELT:g} m/s at most")
        along, across = settings.belt
        truth = Truth(displacement=(x, y, z), yaw=settings.turn, object_velocity=(along, across, 0.0))
        scene = task_scene(task, truth)
        if settings.period:
            scene = scene.at(settings.period)
        measured = {field.name for field in fields(SensorSettings)}
        sensors = SensorSettings(**{name: value for name, value in vars(settings).items() if name in measured})
        robots = {mount.name: arm.robot for mount, arm in zip(scene.arms, arms, strict=True)}
        plant = MujocoPlant(scene, robots, sensors, elasticity=self._elasticity(robots))
        usual = [start_posture(own, arm.robot) for own, arm in zip(task.arms, arms, strict=True)]
        plant.reset(settings.start or np.concatenate(usual), seed=settings.seed)
        return plant

    def _elasticity(self, robots: dict[str, RobotModel]) -> dict[str, JointElasticity]:
        """Joint elasticity by arm, where the plant is flexible: an arm of unknown motor inertia stays rigid."""
        if self._settings.plant != "flexible":
            return {}
        known = {name: robot for name, robot in robots.items() if robot.motor_inertia is not None}
        for name in robots.keys() - known.keys():
            self.get_logger().info(f"{robots[name].name} has rigid joints: the inertia of its motors is unknown")
        stiffness = self._settings.joint_stiffness
        return {name: JointElasticity.of(robot, stiffness=stiffness, friction=True) for name, robot in known.items()}

    def _input(self, arm: Arm, joints: slice) -> ArmInput:
        if self._settings.command_interface == "local_law":
            return LawInput(self, arm, joints, self._on_command, self._cycle)
        return EffortInput(self, arm, joints, self._on_command, self._now)

    def _now(self) -> float:
        """Present time of the clock that stamps the states, s."""
        return self._settings.start_time + self.plant.state.time

    # When to go on

    def _on_command(self) -> None:
        if all(own.input.begun for own in self.arms.values()):
            self._commanded = True
        self._go_on_if_complete()

    @property
    def _driven(self) -> bool:
        """Whether commands move the arms; in lockstep not before every participant is known to receive every state."""
        return self._commanded and (self._gate is None or self._gate.acquainted)

    @property
    def _commands_are_new(self) -> bool:
        now = self._now()
        return all(arm.input.is_new(now) for arm in self.arms.values())

    def _go_on_if_complete(self) -> None:
        if not (self._begun and self._commands_are_new):
            return
        if self._gate is None or not self._waiting:
            self._keep_pace(time.monotonic())
        elif self._gate.complete:
            self._step()

    def _on_tick(self) -> None:
        now = time.monotonic()
        if not self._begun and not self._begin(now):
            return
        if self._gate is None or not self._waiting:
            self._keep_pace(now)
            return
        waited = now - self._last_step
        if not self._driven:
            if self._is_graph_complete() and (waited > HOLD_PATIENCE or self._gate.complete):
                self._step()
        elif self._gate.complete and waited > COMMAND_PATIENCE:
            # A controller that was deactivated brought the arms to rest first.
            self.get_logger().info("no commands come any more: the arms hold themselves")
            self._commanded = False
            for arm in self.arms.values():
                arm.input.forget()
            self._step()
        elif waited > LOCKSTEP_TIMEOUT:
            self._break_lockstep(f"waited {waited:.1f} s for {self._missing()}")

    def _keep_pace(self, now: float) -> None:
        """Make a cycle if one is due at a time `now` of a steady clock, s."""
        present, timeout = self._now(), self._settings.command_timeout
        waited_for = self._driven and any(arm.input.silence(present) <= timeout for arm in self.arms.values())
        if self._pace.due(now, self.plant.state.time, answered=not waited_for or self._commands_are_new):
            self._step()

    def _begin(self, now: float) -> bool:
        """Whether states may be published: those of a second plant would be taken for the first one's."""
        if now < self._look_until or self._twins.present or self._twins.look():
            return False
        self._begun = True
        self._simulated_clock.begin()
        self._pace.begin(now, self.plant.state.time)
        return True

    def _on_loss(self) -> None:
        if self._waiting and self._driven:
            self._break_lockstep(f"a participant is gone, waiting for {self._missing()}")

    def _missing(self) -> str:
        missing = [] if self._gate is None else self._gate.missing
        now = self._now()
        missing += [f"a command for {name}" for name, arm in self.arms.items() if not arm.input.is_new(now)]
        return ", ".join(missing) or "no participant"

    def _break_lockstep(self, why: str) -> None:
        """Keep wall time from now on, so that the remaining nodes can bring the arms to rest."""
        self.get_logger().warning(f"lockstep ends, wall time from now on: {why}")
        self._waiting = False
        self._timer.timer_period_ns = round(1e9 * self._cycle / LOOKS)
        self._pace.begin(time.monotonic(), self.plant.state.time)

    def _is_graph_complete(self) -> bool:
        """Whether all nodes of the graph have found each other: a state that one misses would never be answered."""
        if not self._graph_complete:
            refusal = self._readiness.refusal()
            self._graph_complete = not refusal
            if refusal:
                self.get_logger().info(f"waiting for the others: {refusal}", throttle_duration_sec=5.0)
        return self._graph_complete

    # One cycle

    def _step(self) -> None:
        """One cycle of the plant, published."""
        state = self.plant.step({name: self._torque(arm) for name, arm in self.arms.items()})
        for arm in self.arms.values():
            arm.input.used()
        self._last_step = time.monotonic()
        self._publish_truth()
        if state.time >= self._next_pose:
            self._next_pose = state.time + POSE_PERIOD - 0.5 * self._cycle
            self._publish_object()
        self._publish_states()
        if self._viewer is not None:
            self._viewer.show()

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._viewer is not None:
            self._viewer.close()

    def _torque(self, arm: PlantArm) -> Array | None:
        """What an arm is commanded; None when its commands have stopped."""
        now = self._now()
        if not (self._driven if self._waiting else arm.input.silence(now) <= self._settings.command_timeout):
            return None
        return arm.input.torque(self.plant.state.q, self.plant.reading, now)

    def _publish_states(self) -> None:
        reading = self.plant.reading
        # In lockstep each state's time wakes nodes that wait in simulated time; in wall time a low rate saves load.
        simulated = self.plant.state.time
        self._simulated_clock.publish(self._settings.start_time + simulated, simulated, always=self._waiting)
        time = stamp(self._settings.start_time + reading.time)
        if self._gate is not None:
            self._gate.expect(time)
        for states in self._state_publishers:
            states.publish(reading, time)
        self._states += 1

    def _publish_object(self) -> None:
        state = self.plant.state
        pose = pose_message(self._frame, self._settings.start_time + state.time, state.object_placement)
        self._pose_publisher.publish(pose)
        moving = TwistStamped(header=pose.header)
        write_twist(moving.twist, state.object_twist)
        self._twist_publisher.publish(moving)

    def _publish_truth(self) -> None:
        impacts = self.plant.impacts
        for truth in impacts[self._published_impacts :]:
            self.arms[truth.arm].publish_truth(truth, self._settings.start_time, self._object_name)
        self._published_impacts = len(impacts)

    # Diagnostics

    def _measure_speed(self, wall: float, simulated: float) -> None:
        wall_start, time_start = self._speed_start
        if wall - wall_start >= SPEED_WINDOW:
            self._speed = (simulated - time_start) / (wall - wall_start)
            self._speed_start = (wall, simulated)

    def _drive(self) -> DriveMode:
        """The arms' mode: driven when any is, else braking, else holding."""
        modes = set(self.plant.modes.values())
        return next(mode for mode in (DriveMode.TORQUE, DriveMode.BRAKE, DriveMode.HOLD) if mode in modes)

    def _status(self) -> Report:
        state, mode = self.plant.state, self._drive()
        self._measure_speed(time.monotonic(), state.time)
        now = self._now()
        damped = [name for name, own in self.arms.items() if own.input.lapsed(now)]
        values = {
            "arm": mode.value,
            "time": self._settings.start_time + state.time,
            "largest_speed": float(np.abs(state.dq).max()),
            "real_time_factor": self._speed,
            "given_up": self._pace.given_up,
            "unanswered": self._pace.unanswered,
            "lockstep": self._waiting,
            "states": self._states,
            "impacts": len(self.plant.impacts),
            "damped": ", ".join(damped),
            "damped_cycles": sum(arm.input.damped_cycles for arm in self.arms.values()),
            "rejected_commands": sum(arm.input.rejected for arm in self.arms.values()),
        }
        braking = [name for name, own in self.plant.modes.items() if own is DriveMode.BRAKE]
        if braking:
            which = f" {', '.join(braking)}" if len(self.arms) > 1 else ""
            return ERROR, f"commands stopped: braking{which}", values
        if damped:
            return ERROR, f"laws stopped: {', '.join(damped)} damped", values
        if self._settings.lockstep and not self._waiting:
            return WARN, "lockstep broken: keeping wall time", values
        if not self._settings.lockstep and self._speed < SLOW:
            return WARN, "slower than wall time", values
        return OK, "holding until the first command" if mode is DriveMode.HOLD else "driven", values


main = partial(run_node, SimRobotNode, prompt=True)
