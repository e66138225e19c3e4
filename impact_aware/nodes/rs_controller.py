"""Node `rs_controller`: joint_states in, torques out. Configured it watches; only active it commands.

It controls one arm, or several in one quadratic program: then the topics of each arm are below the arm's name.
"""

from __future__ import annotations

import math
import sys
import time
import traceback
from functools import partial

import pinocchio as pin
from builtin_interfaces.msg import Time
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from impact_aware_msgs.msg import ReferenceField as ReferenceFieldMessage
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from std_srvs.srv import Trigger

from impact_aware.control import Command, ControlParameters, Mode, ReferenceSpreadingController, SafeReason
from impact_aware.control.completion import TaskCompletion
from impact_aware.control.safety.guard import GuardedController
from impact_aware.control.safety.impact_check import check_start
from impact_aware.control.warm_up import warm_up
from impact_aware.errors import ImpactAwareError
from impact_aware.messages.reference_field import field_from_message
from impact_aware.nodes.arm_commands import ArmCommands
from impact_aware.nodes.arm_connections import ArmConnections
from impact_aware.nodes.arm_inputs import ArmInputs
from impact_aware.nodes.control_report import ControlReport
from impact_aware.nodes.controller_settings import Settings
from impact_aware.nodes.impact_notices import ImpactNotices
from impact_aware.nodes.lockstep import LockstepReporter
from impact_aware.nodes.ros.diagnostics import ERROR, OK, WARN, DiagnosticsReporter, Report
from impact_aware.nodes.ros.lifecycle import SteadyLifecycleNode
from impact_aware.nodes.ros.realtime import freeze_garbage
from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.nodes.ros.runtime import run_node
from impact_aware.nodes.ros.upstream import Upstream
from impact_aware.robot.effort_convention import EffortConvention
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.task.arms import Arm, check_names, several_arms, single_arm

WATCHDOG_PERIOD = 0.02
"""Wall time between two looks at the age of the last state, s."""

AUTOSTART_PERIOD = 0.1
"""Wall time between two attempts to start by itself, s."""

RETIRE_TIMEOUT = 2.0
"""Longest time that a deactivated controller goes on commanding to bring the arm to rest, s of the states' time."""

COMPARABLE_CLOCKS = 1000.0
"""Stamps further than this from this machine's clock are of another clock, such as a simulator's, s."""

IN_MOTION = (Mode.ANTE, Mode.INTERIM, Mode.POST)


class RsControllerNode(SteadyLifecycleNode):
    """Reference spreading control over topics."""

    def __init__(self) -> None:
        """Declare the parameters; everything else waits for `configure`."""
        super().__init__("rs_controller")
        self.finished = False
        self._settings = load_settings(self, Settings)
        self._gains = load_settings(self, ControlParameters)
        self._arms: tuple[Arm, ...] = ()
        self._controller: ReferenceSpreadingController | None = None
        self._active = False
        self._cold = True
        self._done = False
        self._mode = Mode.IDLE
        self._stopping = False
        self._retire_before = math.inf
        self._simulated_time = False
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
        """Load the robots, build the controller, subscribe."""
        settings = self._settings
        try:
            if settings.arms:
                self._arms = several_arms(settings.arms, settings.robots, settings.bases)
            else:
                self._arms = single_arm(settings.arm or self.get_namespace().strip("/"), settings.robot)
            controller = ReferenceSpreadingController(
                robots := [arm.robot for arm in self._arms], self._gains, bases=self._bases
            )
            limits = [SafetyLimits.of(robot, state_age=self._gains.state_age_limit) for robot in robots]
            self._guard = GuardedController(controller, limits, self._bases)
        except ImpactAwareError as error:
            self.get_logger().error(f"can't configure: {error}")
            return TransitionCallbackReturn.FAILURE
        self._completion = TaskCompletion(goal_tolerance=settings.goal_tolerance, give_up=settings.give_up)
        self._convention = EffortConvention(robots, self._gains.period)
        self._commands = ArmCommands(self, self._arms)
        self._lockstep = LockstepReporter(self, settings.lockstep)
        self._notices = ImpactNotices(self, controller)
        self._upstream = Upstream(self, self._on_upstream_lost)
        # Events before states: what became known with a state is acted upon with the next one.
        for index, arm in enumerate(self._arms):
            self._upstream.listen(ImpactEvent, arm.topic("impacts"), partial(self._notices.take, index, arm))
            # Only its publisher's life matters here, so nobody unpacks these messages.
            self._upstream.listen(ImpactPrediction, arm.topic("predicted_jumps"), lambda packed: None, raw=True)
        self._upstream.listen(ReferenceFieldMessage, "reference_field", self._on_field, latched=True)
        self._inputs = ArmInputs(
            self, self._arms, self._on_states, reliable=settings.lockstep, period=self._gains.period
        )
        self._connections = ArmConnections(
            self,
            self._arms,
            self._inputs,
            self._commands,
            period=self._gains.period,
            state_timeout=settings.state_timeout,
        )
        self._report = ControlReport(self, controller, self._inputs, self._arms, settings.state_decimation)
        self.create_service(Trigger, "~/safe_stop", self._on_safe_stop)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(Trigger, "~/start", self._on_start)
        self._controller = controller
        names = ", ".join(f"{arm.robot.name} {arm.prefix}".strip() for arm in self._arms)
        self.get_logger().info(f"configured for {names}: watching, nothing is commanded")
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin the motion from the present posture; refused without a fresh state and a field."""
        refusal = self._begin()
        if refusal:
            self._complain(f"can't activate: {refusal}")
            return TransitionCallbackReturn.FAILURE
        self._complaint = ""
        self._simulated_time = bool(self.get_parameter("use_sim_time").value)
        self._guard.begin()
        self._convention.reset()
        self._report.begin()
        self._active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the arms to rest, then stop commanding."""
        self._retire()
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the arms to rest, then stop commanding for good."""
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
        return self._connections.refusal() or (
            "" if self._controller.field is not None else self._connections.no_field()
        )

    def _begin(self) -> str:
        """Begin the motion; returns why it can't, empty when it did."""
        refusal = self._refusal()
        if refusal:
            return refusal
        assert self._controller is not None
        try:
            check_start(self._controller, self._inputs.position, self._bases, self._guard.envelope.limits)
            self._controller.start(self._inputs.time, self._inputs.position, self._inputs.velocity)
        except ImpactAwareError as error:
            return str(error)
        self._done = False
        self._completion.reset()
        self._notices.begin()
        return ""

    def _retire(self) -> None:
        """Take the motion away and go on commanding until it is gone: a forward controller keeps the last effort."""
        if self._controller is not None and self._active:
            self._controller.hold()
            self._retire_before = self._inputs.time + RETIRE_TIMEOUT

    def _finish_retiring(self) -> None:
        self._active = False
        self._retire_before = math.inf
        self.get_logger().info("no longer commanding")
        self._diagnostics.report()

    @property
    def _bases(self) -> list[pin.SE3]:
        return [arm.base for arm in self._arms]

    # The cycle

    def _on_states(self, stamp: Time) -> None:
        """There is a new state of every arm; the one with this stamp came last."""
        begin = time.perf_counter()
        controller, inputs = self._controller, self._inputs
        if self._active and controller is not None:
            age, guard = self._state_age(), self._guard
            command = guard.answer(inputs.time, inputs.position, inputs.velocity, age=max(age, 0.0))
            self._send(command)
            cycle_time = time.perf_counter() - begin
            # What follows is about the next command: this one does not wait for it.
            command = guard.conclude(inputs.effort)
            self._report.account(command, age, begin, cycle_time)
            self._follow(controller, command)
            self._report.tell(command, stamp, self._notices.sequence)
        self._lockstep.report(stamp)

    def _send(self, command: Command) -> None:
        guard = self._guard
        self._commands.publish(self._convention.to_command(command.effort, guard.position, guard.gravity))

    def _state_age(self) -> float:
        # Asking the system is quicker than asking ROS for the same time.
        now = self.get_clock().now().nanoseconds * 1e-9 if self._simulated_time else time.time()
        age = now - self._inputs.oldest
        return age if abs(age) < COMPARABLE_CLOCKS else -1.0

    def _follow(self, controller: ReferenceSpreadingController, command: Command) -> None:
        """Draw the conclusions from a cycle: done, another mode, at rest."""
        if not self._done and controller.field is not None and self._completion.done(command, controller.field.goal):
            self._finish_task(controller)
        if command.mode is not self._mode:
            self._tell_mode(command)
        at_rest = self._inputs.largest_speed < self._gains.rest_velocity
        leaving = self._stopping or math.isfinite(self._retire_before)
        done = leaving and at_rest and self._guard.lets_go(command)
        if self._stopping and done:
            self.finished = True
        if math.isfinite(self._retire_before) and (done or command.time > self._retire_before):
            self._finish_retiring()

    def _finish_task(self, controller: ReferenceSpreadingController) -> None:
        self._done = True
        if len(self._arms) == 1:
            controller.hold()
            return
        # Holding postures would let go of what the arms clamp between them: post-impact control carries it on.
        self.get_logger().info("task done, carrying on")
        self._diagnostics.report()

    def _tell_mode(self, command: Command) -> None:
        self._mode = command.mode
        if command.mode is Mode.SAFE and self._stopping:
            self.get_logger().info("bringing the arm to rest before the end")
        elif command.mode is Mode.SAFE:
            self.get_logger().error(f"safe mode, {command.reason}: {command.detail}")
        else:
            self.get_logger().info(f"mode {command.mode.name} at {command.time:.3f} s")
        self._diagnostics.report()

    # What comes from others

    def _on_field(self, message: ReferenceFieldMessage) -> None:
        if self._controller is None:
            return
        try:
            field = field_from_message(message)
            check_names(self._arms, [own.arm for own in field.arms])
            self._guard.set_field(field)
            if self._cold and not self._active:
                self._cold = False
                self._report.rehearse(warm_up([arm.robot for arm in self._arms], self._gains, field, self._bases))
                freeze_garbage()
        except ImpactAwareError as error:
            self.get_logger().error(f"refused a reference_field: {error}", throttle_duration_sec=2.0)

    def _on_upstream_lost(self, topic: str) -> None:
        controller = self._controller
        if controller is not None and self._active and controller.mode in IN_MOTION:
            # The next state is answered with it: another command before would be one torque step too many.
            controller.safe_stop(SafeReason.UPSTREAM_LOST, f"the node that publishes {topic} is gone")

    def _on_safe_stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        assert self._controller is not None
        self._controller.safe_stop(SafeReason.REQUESTED, "asked for by a client")
        response.success, response.message = True, "going to the safe mode"
        return response

    def _on_reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        assert self._controller is not None
        self._guard.reset()
        response.success, response.message = True, "holding the present posture"
        return response

    def _on_start(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        refusal = self._begin() if self._active else "the node is not active"
        response.success, response.message = not refusal, refusal or "moving"
        return response

    # Time and ends

    def _watch(self) -> None:
        """An arm that is not heard stops all of them; whoever is still heard is braked by its own states."""
        controller = self._controller
        if controller is None or not self._active:
            return
        overdue = self._inputs.overdue(self._settings.state_timeout)
        for arm, reason, detail in overdue:
            controller.safe_stop(reason, detail)
            if arm is not None:
                self._inputs.set_aside(arm)
        if not overdue:
            return
        heard = self._inputs.heard
        if not heard or any(arm is None for arm, *_ in overdue):
            self._publish_safe_command()
        if heard:
            return
        if self._stopping:
            self.finished = True
        if math.isfinite(self._retire_before):
            self._finish_retiring()

    def _publish_safe_command(self) -> None:
        if self._controller is None or not self._active or not self._inputs.complete:
            return
        command = self._guard.command_without_state(self._inputs.time)
        self._send(command)
        self._report.last = command
        if command.mode is not self._mode:
            self._tell_mode(command)

    def survive(self, error: Exception) -> bool:
        """A callback failed: no arm must be left with its last torque, so the safe mode outlives the error."""
        if self._controller is None or not self._active:
            return False
        self.get_logger().error("".join(traceback.format_exception(error)), throttle_duration_sec=2.0)
        self._controller.safe_stop(SafeReason.EXCEPTION, f"{type(error).__name__}: {error}")
        self._publish_safe_command()
        return True

    def prepare_stop(self) -> None:
        """The process was asked to end: bring the arms to rest first."""
        self._stopping = True
        if self._controller is None or not self._active:
            self.finished = True
            return
        self._controller.safe_stop(SafeReason.REQUESTED, "the process was asked to end")

    def close(self) -> None:
        """A last command towards gravity compensation: forward controllers hold on to it."""
        self._publish_safe_command()
        if self._controller is not None:
            self._commands.flush()

    def _complain(self, sentence: str) -> None:
        self._complaint = sentence
        self.get_logger().error(sentence)

    def _status(self) -> Report:
        values: dict[str, object] = {"mode": self._mode.name, "active": self._active, "done": self._done}
        if self._controller is None:
            return OK, "watching", values
        values |= self._report.values() | self._guard.counts()
        if self._controller.mode is Mode.SAFE and "reason" in values:
            values["mode"] = Mode.SAFE.name
            return ERROR, f"safe mode: {values['detail']}", values
        if not self._active:
            return (WARN, self._complaint, values) if self._complaint else (OK, "watching", values)
        return OK, f"mode {self._mode.name}", values


def main() -> None:
    """Run the node."""
    sys.exit(run_node(RsControllerNode))


if __name__ == "__main__":
    main()
