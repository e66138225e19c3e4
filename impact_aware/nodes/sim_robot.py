"""Node `sim_robot`: the plant for whoever has no robot. Effort commands in; joint states, object poses and truth out.

In lockstep it goes on when a new command, and the `step_done` of every participant for its last state, have come; when
a participant dies it stops waiting and keeps wall time, so that whoever is left can bring the arm to rest. Free-running
it keeps wall time from the start. Commands that stop make it brake, as a robot's own reflex does.
"""

from __future__ import annotations

import array
import math
import sys
import time
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import PoseStamped, TwistStamped
from impact_aware_msgs.msg import ContactImpulse, ImpactPrediction, StepDone
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import QoSLivelinessChangedInfo, SubscriptionEventCallbacks
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from impact_aware.errors import InvalidInputError
from impact_aware.nodes.diagnostics import ERROR, OK, WARN, DiagnosticsReporter, Report
from impact_aware.nodes.geometry import point, quaternion, twist, vector3
from impact_aware.nodes.lockstep import TOPIC as STEP_DONE_TOPIC
from impact_aware.nodes.qos import COMMAND_QOS, LATCHED_QOS, STEP_DONE_QOS, STREAM_QOS, state_qos
from impact_aware.nodes.ros_parameters import load_settings
from impact_aware.nodes.runtime import run_node
from impact_aware.nodes.stamps import stamp
from impact_aware.parameters import described
from impact_aware.reference import load_task, start_posture
from impact_aware.robot import RobotModel
from impact_aware.simulation import DriveMode, ImpactTruth, MujocoPlant, SensorSettings, load_scene
from impact_aware.simulation.episode import Truth, task_scene

HOLD_PERIOD = 0.002
"""Wall time between two states before the first command in lockstep, s: starting nodes need the processor too."""

HOLD_PATIENCE = 0.1
"""Longest wall time between two states before the first command in lockstep, s."""

SPEED_WINDOW = 1.0
"""Wall time over which the real-time factor is measured, s."""

SLOW = 0.95
"""Real-time factor below which a free-running plant says that it is slow."""

MOST_CATCH_UP = 20
"""Most cycles made at once to catch up with wall time; beyond that the plant falls behind and says so."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    robot: str = described("panda", "robot profile, by name or file")
    task: str = described("hit_and_push", "task whose object and start posture are simulated, by name or file")
    scene: str = described("", "scene, by name or file; empty: the one that the task takes place in")
    displacement: list[float] = described([0.0, 0.0, 0.0], "how far the object truly is from the task's place, m")
    start: list[float] = described([], "start posture, rad; empty: the task's")
    start_time: float = described(1.0, "simulated time at the start, s", 0.0, 1e9)
    lockstep: bool = described(False, "wait for the controller instead of keeping wall time")
    lockstep_participants: list[str] = described([], "nodes whose step_done is waited for, besides a new command")
    lockstep_timeout: float = described(
        30.0, "longest wait in lockstep for a participant that is alive, s of wall time", 0.01, 3600.0
    )
    command_timeout: float = described(0.1, "time without a command after which the arm brakes, s", 0.001, 10.0)
    pose_period: float = described(0.01, "time between two object poses, s", 0.001, 10.0)
    encoder_resolution: float = described(0.0, "positions are rounded to multiples of this, rad", 0.0, 0.1)
    position_noise: float = described(0.0, "standard deviation of positions, rad", 0.0, 0.1)
    velocity_noise: float = described(0.0, "standard deviation of velocities, rad/s", 0.0, 1.0)
    effort_noise: float = described(0.0, "standard deviation of efforts, N m", 0.0, 100.0)
    delay: int = described(0, "cycles by which joint states are old", 0, 100)
    velocity_source: str = described("true", "where velocities come from", choices=("true", "differences"))
    seed: int = described(0, "seed of the sensor noise", 0, 2**31 - 1)


class SimRobotNode(Node):
    """A MuJoCo plant behind the topics of a real arm."""

    def __init__(self) -> None:
        """Build the plant and start publishing states; the arm holds until the first command."""
        super().__init__("sim_robot")
        self._settings = settings = load_settings(self, Settings)
        self._robot = RobotModel.from_profile(settings.robot)
        task = load_task(settings.task)
        if len(settings.displacement) != 3:
            raise InvalidInputError("parameter displacement", settings.displacement, "three lengths, m")
        x, y, z = settings.displacement
        truth = Truth(displacement=(x, y, z))
        scene = load_scene(settings.scene) if settings.scene else task_scene(task, truth)
        sensors = SensorSettings(
            encoder_resolution=settings.encoder_resolution,
            position_noise=settings.position_noise,
            velocity_noise=settings.velocity_noise,
            effort_noise=settings.effort_noise,
            delay=settings.delay,
            velocity_source=settings.velocity_source,
        )
        self._plant = MujocoPlant(scene, self._robot, sensors)
        start = settings.start or start_posture(task.arms[0], self._robot)
        self._plant.reset(start, seed=settings.seed)
        self._cycle = scene.cycle
        self._object_name = scene.object.name
        self._command: np.ndarray | None = None
        self._command_is_new = False
        self._command_time = -math.inf
        self._done: set[str] = set()
        self._participants = set(settings.lockstep_participants)
        self._waiting = settings.lockstep
        self._last_step = self._wall_start = time.monotonic()
        self._time_start = self._plant.state.time
        self._speed = math.nan
        self._speed_start = (self._wall_start, self._time_start)
        self._rejected_commands = 0
        self._told_impacts = 0
        self._next_pose = -math.inf
        self._everybody_there = not settings.lockstep
        self._create_topics()
        period = HOLD_PERIOD if settings.lockstep else self._cycle
        self.create_timer(period, self._on_tick, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._diagnostics = DiagnosticsReporter(self, self._status, period=0.1)
        how = "in lockstep" if settings.lockstep else "in wall time"
        self.get_logger().info(f"simulating {self._robot.name} in scene {scene.name} {how}")

    def _create_topics(self) -> None:
        n = self._robot.n
        self._state_message = JointState(name=list(self._robot.joint_names))
        # The arrays stay where they are for the life of the message; NumPy writes into them.
        for field in ("position", "velocity", "effort"):
            setattr(self._state_message, field, array.array("d", bytes(8 * n)))
        self._arrays = {
            field: np.frombuffer(getattr(self._state_message, field)) for field in ("position", "velocity", "effort")
        }
        self._clock_message = ClockMessage()
        self._state_publisher = self.create_publisher(JointState, "joint_states", state_qos(reliable=True))
        self._clock_publisher = self.create_publisher(ClockMessage, "/clock", STREAM_QOS)
        self._pose_publisher = self.create_publisher(PoseStamped, "object_pose", 10)
        self._twist_publisher = self.create_publisher(TwistStamped, "object_twist", 10)
        self._truth_publisher = self.create_publisher(ImpactPrediction, "true_impacts", STREAM_QOS)
        description = self.create_publisher(String, "robot_description", LATCHED_QOS)
        if self._robot.profile is not None:
            description.publish(String(data=self._robot.profile.urdf.read_text()))
        self.create_subscription(Float64MultiArray, "effort_controller/commands", self._on_command, COMMAND_QOS)
        if self._settings.lockstep:
            watch = SubscriptionEventCallbacks(liveliness=self._on_liveliness)
            self.create_subscription(
                StepDone, STEP_DONE_TOPIC, self._on_step_done, STEP_DONE_QOS, event_callbacks=watch
            )

    @property
    def _driven(self) -> bool:
        return self._command is not None

    def _on_command(self, message: Float64MultiArray) -> None:
        command = np.array(message.data)
        if command.shape != (self._robot.n,) or not np.isfinite(command).all():
            # What ros2_control's forward controllers do: drop it, keep the last one.
            self._rejected_commands += 1
            self.get_logger().warning(
                f"dropped a command with {command.size} values, {np.count_nonzero(~np.isfinite(command))} not finite",
                throttle_duration_sec=2.0,
            )
            return
        self._command = command
        self._command_is_new = True
        self._command_time = self._plant.state.time
        self._go_on_if_complete()

    def _on_step_done(self, message: StepDone) -> None:
        own = self._state_message.header.stamp
        if message.stamp.sec == own.sec and message.stamp.nanosec == own.nanosec:
            self._done.add(message.node.rpartition("/")[2])
            self._go_on_if_complete()

    def _go_on_if_complete(self) -> None:
        if self._waiting and self._command_is_new and self._participants <= self._done:
            self._step()

    def _on_tick(self) -> None:
        now = time.monotonic()
        if not self._waiting:
            self._keep_wall_time(now)
        elif not self._driven:
            patience_over = now - self._last_step > HOLD_PATIENCE
            if (self._everybody_there or self._is_everybody_there()) and (
                patience_over or self._participants <= self._done
            ):
                self._step()
        elif now - self._last_step > self._settings.lockstep_timeout:
            self._break_lockstep(f"waited {now - self._last_step:.1f} s for {self._missing()}")

    def _on_liveliness(self, info: QoSLivelinessChangedInfo) -> None:
        if self._waiting and self._driven and info.alive_count_change < 0:
            self._break_lockstep(f"a participant is gone, waiting for {self._missing()}")

    def _missing(self) -> str:
        missing = sorted(self._participants - self._done)
        if not self._command_is_new:
            missing.append("a command")
        return ", ".join(missing) or "nobody"

    def _break_lockstep(self, why: str) -> None:
        """Keep wall time from now on, so that whoever is left can bring the arm to rest."""
        self.get_logger().warning(f"lockstep ends, wall time from now on: {why}")
        self._waiting = False
        self._start_wall_time(time.monotonic())

    def _is_everybody_there(self) -> bool:
        """Whether DDS has found all participants: a state that they miss would never be answered."""
        listeners = self._state_publisher.get_subscription_count()
        answering = self.count_publishers(STEP_DONE_TOPIC)
        expected = len(self._participants)
        self._everybody_there = listeners >= expected and answering >= expected
        if not self._everybody_there:
            self.get_logger().info(
                f"waiting for {', '.join(sorted(self._participants))}",
                throttle_duration_sec=5.0,
            )
        return self._everybody_there

    def _start_wall_time(self, now: float) -> None:
        self._wall_start = now
        self._time_start = self._plant.state.time

    def _keep_wall_time(self, now: float) -> None:
        due = int((now - self._wall_start - (self._plant.state.time - self._time_start)) / self._cycle)
        for _ in range(min(due, MOST_CATCH_UP)):
            self._step()
        if due > MOST_CATCH_UP:
            self._start_wall_time(now)

    def _step(self) -> None:
        """One cycle of the plant, then tell everybody."""
        silent = not self._waiting and self._plant.state.time - self._command_time > self._settings.command_timeout
        state = self._plant.step(None if silent else self._command)
        self._command_is_new = False
        self._done.clear()
        self._last_step = time.monotonic()
        self._publish_truth()
        if state.time >= self._next_pose:
            self._next_pose = state.time + self._settings.pose_period - 0.5 * self._cycle
            self._publish_object()
        self._publish_state()

    def _publish_state(self) -> None:
        reading = self._plant.reading
        now = stamp(self._settings.start_time + self._plant.state.time)
        self._clock_message.clock = now
        self._clock_publisher.publish(self._clock_message)
        self._state_message.header.stamp = stamp(self._settings.start_time + reading.time)
        self._arrays["position"][:] = reading.q
        self._arrays["velocity"][:] = reading.dq
        self._arrays["effort"][:] = reading.effort
        self._state_publisher.publish(self._state_message)

    def _publish_object(self) -> None:
        state = self._plant.state
        pose = PoseStamped()
        pose.header.stamp = stamp(self._settings.start_time + state.time)
        pose.header.frame_id = self._robot.base_frame
        pose.pose.position = point(state.object_placement.translation)
        pose.pose.orientation = quaternion(pin.Quaternion(state.object_placement.rotation).coeffs())
        self._pose_publisher.publish(pose)
        self._twist_publisher.publish(TwistStamped(header=pose.header, twist=twist(state.object_twist)))

    def _publish_truth(self) -> None:
        impacts = self._plant.impacts
        for truth in impacts[self._told_impacts :]:
            self._truth_publisher.publish(self._truth_message(truth))
        self._told_impacts = len(impacts)

    def _truth_message(self, truth: ImpactTruth) -> ImpactPrediction:
        message = ImpactPrediction(source=ImpactPrediction.SOURCE_PLANT, arm=truth.arm, valid=True)
        message.header.stamp = stamp(self._settings.start_time + truth.time)
        message.header.frame_id = self._robot.base_frame
        message.joint_names = list(self._robot.joint_names)
        message.position = truth.q
        message.velocity_before = truth.velocity_before
        message.velocity_after = truth.velocity_after
        message.contacts = [
            ContactImpulse(
                frame=self._robot.tool_frame,
                obstacle=self._object_name if truth.partner == "object" else truth.partner,
                point=point(truth.point),
                normal=vector3(truth.normal),
                impulse=vector3(truth.impulse),
                restitution=truth.restitution,
            )
        ]
        message.object = self._object_name
        message.object_twist_before = twist(truth.object_twist_before)
        message.object_twist_after = twist(truth.object_twist_after)
        return message

    def _measure_speed(self, wall: float, simulated: float) -> None:
        wall_start, time_start = self._speed_start
        if wall - wall_start >= SPEED_WINDOW:
            self._speed = (simulated - time_start) / (wall - wall_start)
            self._speed_start = (wall, simulated)

    def _status(self) -> Report:
        state = self._plant.state
        mode = next(iter(self._plant.modes.values()))
        self._measure_speed(time.monotonic(), state.time)
        values = {
            "arm": mode.value,
            "time": self._settings.start_time + state.time,
            "largest_speed": float(np.abs(state.dq).max()),
            "real_time_factor": self._speed,
            "lockstep": self._waiting,
            "rejected_commands": self._rejected_commands,
        }
        if mode is DriveMode.BRAKE:
            return ERROR, "commands stopped: braking", values
        if self._settings.lockstep and not self._waiting:
            return WARN, "lockstep broken: keeping wall time", values
        if not self._settings.lockstep and self._speed < SLOW:
            return WARN, "slower than wall time", values
        return OK, "holding until the first command" if mode is DriveMode.HOLD else "driven", values


def main() -> None:
    """Run the node."""
    sys.exit(run_node(SimRobotNode))


if __name__ == "__main__":
    main()
