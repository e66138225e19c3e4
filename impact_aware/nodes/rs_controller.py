"""Node `rs_controller`: joint_states in, torques out. Configured it watches; only active it commands."""

from __future__ import annotations

import array
import math
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from impact_aware_msgs.msg import ControllerState, ImpactEvent, ImpactPrediction
from impact_aware_msgs.msg import ReferenceField as ReferenceFieldMessage
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import QoSLivelinessChangedInfo, SubscriptionEventCallbacks
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import Trigger

from impact_aware.control import Command, ControlParameters, Mode, ReferenceSpreadingController, SafeReason
from impact_aware.control.completion import TaskCompletion, goal_distance
from impact_aware.errors import ImpactAwareError
from impact_aware.nodes.command_conversion import command_to_message
from impact_aware.nodes.diagnostics import ERROR, OK, WARN, DiagnosticsReporter, Report
from impact_aware.nodes.field_conversions import field_from_message
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.nodes.lifecycle import SteadyLifecycleNode
from impact_aware.nodes.lockstep import LockstepReporter
from impact_aware.nodes.qos import COMMAND_QOS, EVENT_QOS, LATCHED_EVENT_QOS, STREAM_QOS
from impact_aware.nodes.ros_parameters import load_settings
from impact_aware.nodes.runtime import run_node
from impact_aware.nodes.stamps import seconds
from impact_aware.parameters import described
from impact_aware.robot import RobotModel

WATCHDOG_PERIOD = 0.01
"""Wall time between two looks at the age of the last state, s."""

AUTOSTART_PERIOD = 0.1
"""Wall time between two attempts to start by itself, s."""

RETIRE_TIMEOUT = 2.0
"""Longest time that a deactivated controller goes on commanding to bring the arm to rest, s of the states' time."""

COMPARABLE_CLOCKS = 1000.0
"""Stamps further than this from this machine's clock are of another clock, such as a simulator's, s."""

IN_MOTION = (Mode.ANTE, Mode.INTERIM, Mode.POST)


@dataclass(frozen=True)
class Settings:
    """Parameters of the node, besides those of the controller."""

    robot: str = described("panda", "robot profile, by name or file")
    arm: str = described("", "name of the arm; empty: the node's namespace")
    autostart: bool = described(False, "configure, activate and start without being asked")
    state_timeout: float = described(
        0.1, "time without joint_states after which the arm goes to the safe mode, s of wall time", 0.005, 60.0
    )
    goal_tolerance: float = described(0.01, "distance from the goal at which the task is done, m", 1e-4, 1.0)
    give_up: float = described(1.0, "time at rest away from the goal after which the task is over, s", 0.1, 60.0)
    state_decimation: int = described(10, "controller_state comes every so many cycles", 1, 1000)
    lockstep: bool = described(False, "answer every state with step_done, for a simulator in lockstep")


class RsControllerNode(SteadyLifecycleNode):
    """Reference spreading control of one arm over topics."""

    def __init__(self) -> None:
        """Declare the parameters; everything else waits for `configure`."""
        super().__init__("rs_controller")
        self.finished = False
        self._settings = load_settings(self, Settings)
        self._gains = load_settings(self, ControlParameters)
        self._arm = self._settings.arm or self.get_namespace().strip("/")
        self._controller: ReferenceSpreadingController | None = None
        self._active = False
        self._last_receipt = -math.inf
        self._cycles = 0
        self._missed = 0
        self._event_sequence = 0
        self._cycle_time = 0.0
        self._age = -1.0
        self._mode = Mode.IDLE
        self._last_command: Command | None = None
        self._stopping = False
        self._retire_before = math.inf
        self._complaint = ""
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._watchdog = self.create_timer(WATCHDOG_PERIOD, self._watch, clock=steady)
        self._autostart = (
            self.create_timer(AUTOSTART_PERIOD, self._start_by_itself, clock=steady)
            if self._settings.autostart
            else None
        )
        self._diagnostics = DiagnosticsReporter(self, self._status)

    # Lifecycle

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot, build the controller, subscribe."""
        settings = self._settings
        try:
            self._robot = RobotModel.from_profile(settings.robot)
            self._controller = ReferenceSpreadingController(self._robot, self._gains)
        except ImpactAwareError as error:
            self.get_logger().error(f"can't configure: {error}")
            return TransitionCallbackReturn.FAILURE
        self._completion = TaskCompletion(goal_tolerance=settings.goal_tolerance, give_up=settings.give_up)
        n = self._robot.n
        self._command_message = Float64MultiArray()
        self._command_message.data = array.array("d", bytes(8 * n))
        self._command_values = np.frombuffer(self._command_message.data)
        self._command_publisher = self.create_publisher(Float64MultiArray, "effort_controller/commands", COMMAND_QOS)
        self._state_publisher = self.create_publisher(ControllerState, "controller_state", STREAM_QOS)
        self._lockstep = LockstepReporter(self, settings.lockstep)
        # Events before states: what became known with a state is acted upon with the next one.
        for kind, topic, callback, qos in (
            (ImpactEvent, "impacts", self._on_impact, EVENT_QOS),
            (ReferenceFieldMessage, "reference_field", self._on_field, LATCHED_EVENT_QOS),
            (ImpactPrediction, "predicted_jumps", self._on_prediction, EVENT_QOS),
        ):
            watch = SubscriptionEventCallbacks(liveliness=self._liveliness_callback(topic))
            self.create_subscription(kind, topic, callback, qos, event_callbacks=watch)
        self._source = JointStateSource(
            self, self._robot.joint_names, self._on_state, reliable=settings.lockstep, lowest_rate=500.0
        )
        self.create_service(Trigger, "~/safe_stop", self._on_safe_stop)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(Trigger, "~/start", self._on_start)
        self.get_logger().info(f"configured for {self._robot.name}: watching, nothing is commanded")
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin the motion from the present posture; refused without a fresh state and a field."""
        refusal = self._begin()
        if refusal:
            self._complain(f"can't activate: {refusal}")
            return TransitionCallbackReturn.FAILURE
        self._complaint = ""
        self._cycles = self._missed = 0
        self._active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the arm to rest, then stop commanding."""
        self._retire()
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the arm to rest, then stop commanding for good."""
        if self._autostart is not None:
            self._autostart.cancel()
        self._retire()
        return super().on_shutdown(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Refused: a controller that was configured for one robot stays with it; start another process for another."""
        self.get_logger().error("a configured controller can't be cleaned up: end the process instead")
        return TransitionCallbackReturn.FAILURE

    def _start_by_itself(self) -> None:
        if self._controller is None:
            if self.trigger_configure() is not TransitionCallbackReturn.SUCCESS:
                self.finished = True
        elif not self._active and not self._refusal():
            self.trigger_activate()
        if self._active and self._autostart is not None:
            self._autostart.cancel()

    def _refusal(self) -> str:
        """Why the motion can't begin now; empty when it can."""
        if self._controller is None:
            return "not configured"
        if math.isfinite(self._retire_before):
            return "the arm is still coming to rest"
        age = time.monotonic() - self._last_receipt
        if age > self._settings.state_timeout:
            return "no joint_states yet" if math.isinf(age) else f"the last joint_states came {age:.2f} s ago"
        if self._controller.field is None:
            return "no reference_field yet"
        if not self._source.velocity_measured:
            return "joint_states have no velocities"
        return ""

    def _begin(self) -> str:
        """Begin the motion; returns why it can't, empty when it did."""
        refusal = self._refusal()
        if refusal:
            return refusal
        assert self._controller is not None
        try:
            self._controller.start(self._source.time, self._source.position, self._source.velocity)
        except ImpactAwareError as error:
            return str(error)
        self._completion.reset()
        return ""

    def _retire(self) -> None:
        """Take the motion away and go on commanding until it is gone: a forward controller keeps the last effort."""
        if self._controller is not None and self._active:
            self._controller.hold()
            self._retire_before = self._source.time + RETIRE_TIMEOUT

    def _finish_retiring(self) -> None:
        self._active = False
        self._retire_before = math.inf
        self.get_logger().info("no longer commanding")
        self._diagnostics.report()

    # The cycle

    def _on_state(self, state: JointState) -> None:
        begin = time.perf_counter()
        source = self._source
        self._last_receipt = time.monotonic()
        controller = self._controller
        if self._active and controller is not None:
            age = self._state_age(state)
            command = controller.update(source.time, source.position, source.velocity, age=max(age, 0.0))
            self._command_values[:] = command.effort
            self._command_publisher.publish(self._command_message)
            self._cycle_time = time.perf_counter() - begin
            self._account(command, age)
            if self._cycles % self._settings.state_decimation == 0:
                self._publish_state(state, command)
        self._lockstep.report(state)

    def _state_age(self, state: JointState) -> float:
        stamp = state.header.stamp
        age = self.get_clock().now().nanoseconds * 1e-9 - (stamp.sec + 1e-9 * stamp.nanosec)
        return age if abs(age) < COMPARABLE_CLOCKS else -1.0

    def _account(self, command: Command, age: float) -> None:
        assert self._controller is not None
        self._cycles += 1
        self._age = age
        if self._last_command is not None:
            gap = round((command.time - self._last_command.time) / self._gains.period)
            self._missed += max(0, gap - 1)
        self._last_command = command
        if self._controller.field is not None and self._completion.done(command, self._controller.field.goal):
            self._controller.hold()
        if command.mode is not self._mode:
            self._tell_mode(command)
        at_rest = np.abs(self._source.velocity).max() < self._gains.rest_velocity
        if self._stopping and at_rest:
            self.finished = True
        if math.isfinite(self._retire_before) and (at_rest or command.time > self._retire_before):
            self._finish_retiring()

    def _tell_mode(self, command: Command) -> None:
        self._mode = command.mode
        if command.mode is Mode.SAFE and self._stopping:
            self.get_logger().info("bringing the arm to rest before the end")
        elif command.mode is Mode.SAFE:
            self.get_logger().error(f"safe mode, {command.reason}: {command.detail}")
        else:
            self.get_logger().info(f"mode {command.mode.name} at {command.time:.3f} s")
        self._diagnostics.report()

    def _publish_state(self, state: JointState, command: Command) -> None:
        assert self._controller is not None
        field = self._controller.field
        message = command_to_message(
            command,
            header=Header(stamp=state.header.stamp, frame_id=self._robot.base_frame),
            arm=self._arm,
            joint_names=self._source.joint_names,
            joint_reference_velocity=self._controller.joint_reference_velocity(command),
        )
        message.field_revision = field.revision if field is not None else 0
        message.event_sequence = self._event_sequence
        message.cycles = self._cycles
        message.missed = self._missed
        message.cycle_time = self._cycle_time
        message.state_age = self._age
        message.goal_distance = self._goal_distance(command)
        self._state_publisher.publish(message)

    def _goal_distance(self, command: Command) -> float:
        assert self._controller is not None
        if self._controller.field is None:
            return -1.0
        distance = goal_distance(command, self._controller.field.goal)
        return distance if math.isfinite(distance) else -1.0

    # What comes from others

    def _on_impact(self, event: ImpactEvent) -> None:
        controller = self._controller
        if controller is None or event.arm != self._arm:
            return
        impact, detected = seconds(event.header.stamp), seconds(event.stamp_detected)
        if event.kind == ImpactEvent.KIND_CONTACT_COMPLETE:
            controller.notify_contact_complete(detected)
        elif event.kind == ImpactEvent.KIND_CONTACT_MADE:
            if controller.notify_impact(impact, detected, event_sequence=event.sequence):
                self._event_sequence = event.sequence

    def _on_field(self, message: ReferenceFieldMessage) -> None:
        if self._controller is None:
            return
        try:
            self._controller.set_field(field_from_message(message))
        except ImpactAwareError as error:
            self.get_logger().error(f"refused a reference_field: {error}", throttle_duration_sec=2.0)

    def _on_prediction(self, prediction: ImpactPrediction) -> None:
        """Nothing to do: predictions come in by the field. Subscribed to learn of the predictor's death."""

    def _liveliness_callback(self, topic: str) -> Callable[[QoSLivelinessChangedInfo], None]:
        def changed(info: QoSLivelinessChangedInfo) -> None:
            if info.alive_count == 0 and info.alive_count_change < 0:
                self._lost(topic)

        return changed

    def _lost(self, topic: str) -> None:
        controller = self._controller
        if controller is not None and self._active and controller.mode in IN_MOTION:
            controller.safe_stop(SafeReason.UPSTREAM_LOST, f"the node that publishes {topic} is gone")
            self._publish_safe_command()

    def _on_safe_stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        assert self._controller is not None
        self._controller.safe_stop(SafeReason.REQUESTED, "asked for by a client")
        self._publish_safe_command()
        response.success, response.message = True, "going to the safe mode"
        return response

    def _on_reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        assert self._controller is not None
        self._controller.reset()
        response.success, response.message = True, "holding the present posture"
        return response

    def _on_start(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        refusal = self._begin() if self._active else "the node is not active"
        response.success, response.message = not refusal, refusal or "moving"
        return response

    # Time and ends

    def _watch(self) -> None:
        controller = self._controller
        if controller is None or not self._active:
            return
        age = time.monotonic() - self._last_receipt
        if age <= self._settings.state_timeout:
            return
        missing = ", ".join(self._source.missing)
        if missing:
            controller.safe_stop(SafeReason.JOINT_MISSING, f"joint_states lack {missing}")
        else:
            controller.safe_stop(SafeReason.STATE_STALE, f"no usable joint_states for {age:.2f} s")
        self._publish_safe_command()
        self._finish_stop()
        if math.isfinite(self._retire_before):
            self._finish_retiring()

    def _publish_safe_command(self) -> None:
        if self._controller is None or not self._active or not math.isfinite(self._source.time):
            return
        command = self._controller.command_without_state(self._source.time)
        self._command_values[:] = command.effort
        self._command_publisher.publish(self._command_message)
        self._last_command = command
        if command.mode is not self._mode:
            self._tell_mode(command)

    def survive(self, error: Exception) -> bool:
        """A callback failed: the arm must not be left with its last torque, so the safe mode outlives the error."""
        if self._controller is None or not self._active:
            return False
        self.get_logger().error("".join(traceback.format_exception(error)), throttle_duration_sec=2.0)
        self._controller.safe_stop(SafeReason.EXCEPTION, f"{type(error).__name__}: {error}")
        self._publish_safe_command()
        return True

    def prepare_stop(self) -> None:
        """The process was asked to end: bring the arm to rest first."""
        self._stopping = True
        if self._controller is None or not self._active:
            self.finished = True
            return
        self._controller.safe_stop(SafeReason.REQUESTED, "the process was asked to end")

    def _finish_stop(self) -> None:
        if self._stopping:
            self.finished = True

    def close(self) -> None:
        """A last command towards gravity compensation: forward controllers hold on to it."""
        self._publish_safe_command()

    def _complain(self, sentence: str) -> None:
        self._complaint = sentence
        self.get_logger().error(sentence)

    def _status(self) -> Report:
        command = self._last_command
        values: dict[str, object] = {
            "mode": self._mode.name,
            "active": self._active,
            "cycles": self._cycles,
            "missed": self._missed,
            "cycle_us": 1e6 * self._cycle_time,
        }
        if self._controller is not None:
            values["state_rate"] = self._source.rate
            values["rejected_states"] = sum(self._source.rejected.values())
        if command is not None:
            values["time"] = command.time
            values["goal_distance"] = self._goal_distance(command)
        if self._controller is not None and self._controller.mode is Mode.SAFE and command is not None:
            values["mode"] = Mode.SAFE.name
            values["reason"] = str(command.reason or "")
            values["detail"] = command.detail
            return ERROR, f"safe mode: {command.detail}", values
        if not self._active:
            return (WARN, self._complaint, values) if self._complaint else (OK, "watching", values)
        return OK, f"mode {self._mode.name}", values


def main() -> None:
    """Run the node."""
    sys.exit(run_node(RsControllerNode))


if __name__ == "__main__":
    main()
