"""Node `rs_controller`: joint_states in, torques or laws out. Configured it watches; only active it commands.

It controls one arm, or several in one program, whose topics are below their names, by a `ControlSession`; here is ROS.
"""

from __future__ import annotations

import gc
import time
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from impact_aware_msgs.msg import ReferenceField as ReferenceFieldMessage
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from std_srvs.srv import Trigger

from impact_aware.control import ControlSession, Mode, SafeReason
from impact_aware.control.ending import TaskCompletion
from impact_aware.control.local_law import check_laws
from impact_aware.control.warm_up import warm_up
from impact_aware.errors import ImpactAwareError
from impact_aware.messages.reference_field import field_from_message
from impact_aware.messages.stamps import seconds
from impact_aware.nodes.arm_commands import arm_commands
from impact_aware.nodes.arm_connections import ArmConnections
from impact_aware.nodes.bases import NOT_KNOWN, TaskBases
from impact_aware.nodes.control_report import ControlReport
from impact_aware.nodes.controller_settings import RunTimeGains, Settings
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.nodes.lockstep import LockstepReporter
from impact_aware.nodes.pushed_object import listen_to_object
from impact_aware.ros.diagnostics import ERROR, OK, WARN, DiagnosticsReporter, Report
from impact_aware.ros.lifecycle import SteadyLifecycleNode
from impact_aware.ros.liveness import Upstream, WatchdogLink, listen_to_driver
from impact_aware.ros.readiness import Readiness
from impact_aware.ros.realtime import freeze_garbage
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware.ros.timers import steady_timer
from impact_aware.task.arms import Arm, check_bases, check_names

WATCHDOG_PERIOD = 0.02
"""Wall time between two looks at the age of the last state, s."""

AUTOSTART_PERIOD = 0.1
"""Wall time between two attempts to start by itself, s."""

RIVAL_PERIOD = 0.5
"""Wall time between two looks for other nodes that command the arms, s."""

LOWEST_RATE = 500.0
"""Rate of joint_states below which a controller is warned, Hz."""

WARN_PERIOD = 5.0
"""Shortest time between two warnings of the same kind, s."""


class RsControllerNode(SteadyLifecycleNode):
    """Reference spreading control over topics."""

    def __init__(self, **ros: Any) -> None:
        """Declare the parameters; everything else waits for `configure`; `ros` goes to rclpy's node."""
        super().__init__("rs_controller", **ros)
        self._settings = load_settings(self, Settings)
        self._gains = RunTimeGains(self)
        self._bases = TaskBases(self, self._settings.bases_from_task)
        self.arms: tuple[Arm, ...] = ()
        self.session: ControlSession | None = None
        self._given_up = False
        self._cold = True
        self._seen = (Mode.IDLE, False, False)
        self._simulated_time = False
        self._complaint = self._waiting_for = ""
        self._watchdog = steady_timer(self, WATCHDOG_PERIOD, self._watch)
        self._rival_watch = steady_timer(self, RIVAL_PERIOD, self._look_for_rivals)
        self._autostart = steady_timer(self, AUTOSTART_PERIOD, self._start_by_itself)
        self._readiness = Readiness(self, busy=lambda: self.session is not None and self.session.active)
        self._diagnostics = DiagnosticsReporter(self, self._status)
        if not self._settings.autostart:
            self._autostart.cancel()
            self.get_logger().info(f"waiting for: ros2 lifecycle set {self.get_fully_qualified_name()} configure")

    @property
    def finished(self) -> bool:
        """Whether the process may end."""
        return self._given_up or (self.session is not None and self.session.rest.finished)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robots, prepare the session, subscribe."""
        settings = self._settings
        self.mark()
        try:
            bases = self._bases.numbers(settings.arms or [settings.arm], settings.bases)
            self.arms = settings.make_arms(self.get_namespace(), bases)
            check_laws(settings.law_rate, settings.law_validity)
            self._commands = arm_commands(self, self.arms, settings)
        except ImpactAwareError as error:
            self.destroy_since_mark()
            return self._refuse(f"can't configure: {error}")
        self._complaint = ""
        self._lockstep = LockstepReporter(self, settings.lockstep)
        self._upstream = Upstream(self, self._on_upstream_lost, settings.upstream_timeout)
        # Events before states: what became known with a state is acted upon with the next one.
        for index, arm in enumerate(self.arms):
            self._upstream.listen(ImpactEvent, arm.topic("impacts"), partial(self._on_impact, index))
            # Only the publisher's liveness matters here, so these messages stay serialized.
            self._upstream.listen(ImpactPrediction, arm.topic("predicted_jumps"), lambda serialized: None, raw=True)
            listen_to_driver(self, arm, partial(self._on_stopped, SafeReason.ARM_STOPPED))
        self._upstream.listen(ReferenceFieldMessage, "reference_field", self._on_field, latched=True)
        listen_to_object(self)
        self._sources = sources = [
            JointStateSource(
                self,
                arm.robot.joint_names,
                partial(self._on_state, index),
                topic=arm.topic("joint_states"),
                reliable=settings.lockstep,
                answered=True,
                first=True,
                lowest_rate=LOWEST_RATE,
            )
            for index, arm in enumerate(self.arms)
        ]
        session = ControlSession(
            [arm.robot for arm in self.arms],
            self._gains.parameters,
            bases=[arm.base for arm in self.arms],
            readers=sources,
            topics=[arm.topic("joint_states") for arm in self.arms],
            state_timeout=settings.state_timeout,
            completion=TaskCompletion(goal_tolerance=settings.goal_tolerance, give_up=settings.give_up),
            send=self._commands.send,
            present=self._now,
            paced=not settings.lockstep,
            declared=settings.convention_declared,
        )
        off = partial(self._on_stopped, SafeReason.WATCHDOG)
        link = WatchdogLink(self, settings.watchdog_timeout, off) if settings.watchdog else None
        reach = self._commands, self._readiness, self._upstream, link
        required = settings.joint_order_required
        self.connections = ArmConnections(self, self.arms, session, sources, *reach, order_required=required)
        self._report = ControlReport(self, session, self.arms, sources, settings.state_decimation)
        self.create_service(Trigger, "~/safe_stop", self._on_safe_stop)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(Trigger, "~/start", self._on_start)
        self.session = self._gains.session = session
        names = ", ".join(f"{arm.robot.name} {arm.prefix}".strip() for arm in self.arms)
        self.get_logger().info(f"configured for {names}: watching, nothing is commanded")
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin the motion from the present posture; refused without a fresh state and a field."""
        self._simulated_time = bool(self.get_parameter("use_sim_time").value)
        if refusal := self._begin():
            return self._refuse(f"can't activate: {refusal}")
        self._complaint = ""
        self._report.begin()
        return super().on_activate(state)

    def _refuse(self, complaint: str) -> TransitionCallbackReturn:
        """Refuse a transition with a sentence for the log and the diagnostics."""
        if complaint != self._complaint:  # `autostart` tries again ten times a second.
            self.get_logger().error(complaint)
            if self.session is not None:
                self._report.end(complaint)
        self._complaint = complaint
        return TransitionCallbackReturn.FAILURE

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the arms to rest, then stop commanding."""
        if self.session is not None:
            self.session.stop()
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the arms to rest, then stop commanding for good."""
        self._autostart.cancel()
        if self.session is not None:
            self.session.stop()
        return super().on_shutdown(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the session and all its topics; refused while the arms are still brought to rest."""
        if self.session is not None and self.session.active:
            return self._refuse("can't clean up: the arms are still being brought to rest")
        self._autostart.cancel()
        self.connections.close()
        self.session = self._gains.session = None
        self._seen, self._cold, self._complaint = (Mode.IDLE, False, False), True, ""
        self.destroy_since_mark()
        return super().on_cleanup(state)

    def _start_by_itself(self) -> None:
        session = self.session
        if session is None:
            if self._bases.known() and self.trigger_configure() is not TransitionCallbackReturn.SUCCESS:
                self._given_up = True
        elif not session.active:
            self._waiting_for = self.connections.refusal()
            if not self._waiting_for:
                self.trigger_activate()
            else:
                self.get_logger().info(f"waiting to begin: {self._waiting_for}", throttle_duration_sec=10.0)
        if self.session is not None and self.session.active:
            self._autostart.cancel()

    def _begin(self) -> str:
        """Begin the motion; returns why it can't, empty when it did."""
        refusal = "not configured" if self.session is None else self.connections.refusal()
        if refusal or self.session is None:
            return refusal
        try:
            self.session.start()
        except ImpactAwareError as error:
            return str(error)
        return ""

    # The cycle

    def _on_state(self, arm: int, stamp: Time) -> None:
        """A new state of one arm; when it completes a state of all arms, it is answered."""
        session = self.session
        if session is None:
            return
        arrival = time.perf_counter()
        # A collection that falls due between state and torque waits until the torque is sent.
        gc.disable()
        try:
            answered = session.receive(arm)
        finally:
            gc.enable()
        if not answered:
            return
        if session.active and session.command is not None:
            self._commands.command(session)
            self._report.account(session.command, arrival)
            self._follow()
            self._report.publish(session.command, stamp)
        elif self._seen[1]:
            self._follow()
        self._lockstep.report(stamp)

    def _now(self) -> float:
        return self.get_clock().now().nanoseconds * 1e-9 if self._simulated_time else time.time()

    def _follow(self) -> None:
        """Log what has changed: another mode, the task done, no longer commanding."""
        session = self.session
        assert session is not None
        # A mode begins with its first command: the watchdog may look before.
        mode = self._seen[0] if session.command is None else session.command.mode
        if (seen := (mode, session.active, session.done)) == self._seen:
            return
        (before, was_active, was_done), self._seen = self._seen, seen
        logger, command = self.get_logger(), session.command
        if mode is not before and command is not None:
            if mode is Mode.SAFE and session.rest.shutting_down:
                logger.info("bringing the arm to rest before the end")
            elif mode is Mode.SAFE:
                logger.error(f"safe mode, {command.reason}: {command.detail}")
            else:
                logger.info(f"mode {mode.name} at {command.time:.3f} s")
        if session.done and not was_done and len(self.arms) > 1:
            logger.info("task done, carrying on")
        if was_active and not session.active:
            logger.info("no longer commanding")
            self._report.end()
        self._diagnostics.report()

    # What comes from others

    def _on_impact(self, index: int, event: ImpactEvent) -> None:
        session, arm = self.session, self.arms[index]
        if session is None:
            return
        if event.arm != arm.name:
            self.get_logger().warning(
                f"ignored an impact of arm '{event.arm}' on {arm.topic('impacts')}: expected arm '{arm.name}'",
                throttle_duration_sec=WARN_PERIOD,
            )
            return
        detected = seconds(event.stamp_detected)
        if event.kind == ImpactEvent.KIND_CONTACT_COMPLETE:
            session.events.notify_contact_complete(detected, arm=index, sequence=event.sequence)
        elif event.kind == ImpactEvent.KIND_CONTACT_MADE:
            session.events.notify_impact(seconds(event.header.stamp), detected, arm=index, sequence=event.sequence)

    def _on_field(self, message: ReferenceFieldMessage) -> None:
        session = self.session
        if session is None:
            return
        try:
            field = field_from_message(message)
            check_names(self.arms, [own.arm for own in field.arms])
            check_bases(self.arms, field.arms)
            session.set_field(field)
            self.connections.refused_field = ""
            if self._cold and not session.active:
                self._cold = False
                self._report.rehearse(warm_up(session))
                freeze_garbage()
        except ImpactAwareError as error:
            self.connections.refuse_field(error)

    def _on_upstream_lost(self, topic: str) -> None:
        if self.session is not None:
            self.session.upstream_lost(topic)

    def _on_stopped(self, reason: SafeReason, detail: str) -> None:
        if self.session is not None and self.session.active:
            self.session.safe_stop(reason, detail)

    def _on_safe_stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        assert self.session is not None
        self.session.safe_stop(SafeReason.REQUESTED, "requested by a client")
        response.success, response.message = True, "going to the safe mode"
        return response

    def _on_reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        assert self.session is not None
        self.session.reset()
        response.success, response.message = True, "holding the present posture"
        return response

    def _on_start(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        active = self.session is not None and self.session.active
        refusal = self._begin() if active else "the node is not active"
        response.success, response.message = not refusal, refusal or "moving"
        return response

    # Time, errors and shutdown

    def _watch(self) -> None:
        if self.session is not None and self.session.active:
            self.session.watch()
            self._commands.command(self.session)
            self._follow()

    def _look_for_rivals(self) -> None:
        """Stop when a second controller commands the same arm, and report which."""
        session = self.session
        if session is None or session.mode is Mode.SAFE:
            return
        if not session.active:
            self.connections.look()
        elif rivals := self._commands.rival_names():
            session.safe_stop(SafeReason.COMMAND_RIVAL, f"another node sends commands too: {', '.join(rivals)}")
            self._follow()

    def survive(self, error: Exception) -> None:
        """A callback failed: no arm must be left with its last torque, so the safe mode outlives the error."""
        session = self.session
        if session is not None and session.active:
            session.fail(error)
            self._commands.command(session)
            self._follow()

    def prepare_stop(self) -> None:
        """Bring the arms to rest before the process ends."""
        if self.session is None:
            self._given_up = True
        else:
            self.session.shut_down()

    def close(self) -> None:
        """A last command towards gravity compensation: forward controllers hold on to it, laws end by themselves."""
        if self.session is not None:
            self.session.send_without_state()
            self._commands.command(self.session)
            self._commands.flush()
            self._report.end()

    def destroy_node(self) -> None:
        """Leave the name to others, too."""
        if self.session is not None:
            self.connections.close()
        super().destroy_node()

    def _status(self) -> Report:
        session = self.session
        if session is None:
            waits = self._complaint or ("waiting to be configured" if self._bases.known() else NOT_KNOWN)
            return WARN if self._complaint else OK, waits, {"mode": Mode.IDLE.name, "active": False, "done": False}
        mode = self._seen[0]
        values: dict[str, object] = {"mode": mode.name, "active": session.active, "done": session.done}
        values |= self._report.values() | self._gains.changed() | self.connections.values()
        if session.mode is Mode.SAFE and "reason" in values:
            values["mode"] = Mode.SAFE.name
            return ERROR, f"safe mode: {values['detail']}", values
        trouble = next(filter(None, [source.trouble() for source in self._sources]), "")
        sentence = f"mode {mode.name}"
        if not session.active:
            values["waiting_for"] = self._waiting_for
            trouble, sentence = self._complaint or trouble, "watching"
        return (WARN, trouble, values) if trouble else (OK, sentence, values)


main = partial(run_node, RsControllerNode, prompt=True)
