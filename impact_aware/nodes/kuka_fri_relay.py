"""Node `kuka_fri_relay`: `rs_controller`'s torques as lbr_fri_ros2_stack takes them; when none come it holds the arm.

The driver needs joint positions beside the torques, and goes on with the last message for ever, so each state is
answered: with the newest torque, or, when none comes, with what brings the arm to rest and holds it there. One relay
for each arm, in the arm's namespace.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from impact_aware.bringup.command_path import OVERLAY_TOPIC, OVERLAY_TYPE
from impact_aware.control.effort_relay import EffortRelay
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.nodes.bases import NOT_KNOWN, TaskBases
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.nodes.lockstep import LockstepReporter
from impact_aware.parameters import described
from impact_aware.robot import RobotModel
from impact_aware.ros.diagnostics import ERROR, OK, WARN, DiagnosticsReporter, Report
from impact_aware.ros.liveness import WATCHDOG
from impact_aware.ros.messages import UndecodableError, decoded, message_class
from impact_aware.ros.qos import COMMAND_QOS
from impact_aware.ros.readiness import Readiness
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware.task.arms import single_arm

JOINTS = 7
"""Joints of every arm with this driver; the arrays of its message have this length."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    robot: str = described("panda", "robot profile of the arm, by name or file")
    joint_prefix: str = described("", "what stands before the names of its joints, such as left_")
    base: list[float] = described(
        [], "pose of its base: x, y, z (m) and yaw, or roll, pitch, yaw (rad), or a quaternion; empty: upright"
    )
    base_from_task: bool = described(
        False, "the base is that of the task, which reference_field looks up in TF; no torque is passed on before"
    )
    period: float = described(0.002, "time between two states of the arm, s", 1e-4, 0.1)
    command_timeout: float = described(
        0.01, "time without a torque after which the arm is held, s; less than the watchdog's", 0.002, 60.0
    )
    state_timeout: float = described(
        0.02, "time without a state after which no torque is passed on any more, s of wall time", 0.005, 60.0
    )
    lockstep: bool = described(False, "answer every state with step_done, for a simulator in lockstep")


class KukaFriRelayNode(Node):
    """Between `rs_controller` and lbr_torque_command_controller."""

    def __init__(self, **ros: Any) -> None:
        """Wait for states; what is sent until the first torque is none; `ros` goes to rclpy's node."""
        super().__init__("kuka_fri_relay", **ros)
        settings = load_settings(self, Settings)
        self._settings = settings
        self._arm = self.get_namespace().strip("/").rpartition("/")[2]
        self._bases = TaskBases(self, settings.base_from_task, self._on_task)
        robot = self._robot_on(settings.base)
        if robot.n != JOINTS:
            raise InvalidInputError("parameter robot", settings.robot, f"an arm of {JOINTS} joints, not of {robot.n}")
        if robot.profile is None or robot.profile.command_includes_gravity:
            expected = "a profile with command_includes_gravity: false, as these torques come on top of the arm's own"
            raise InvalidInputError("parameter robot", settings.robot, expected)
        self.relay = self._make_relay(robot)
        self._message = message_class(OVERLAY_TYPE)()
        self._publisher = self.create_publisher(message_class(OVERLAY_TYPE), OVERLAY_TOPIC, COMMAND_QOS)
        self.create_subscription(Float64MultiArray, "~/commands", self._on_command, COMMAND_QOS, raw=True)
        self._state_time, self._logged, self._leaving = -np.inf, "", False
        self._lockstep = LockstepReporter(self, settings.lockstep)
        self._states = JointStateSource(
            self, robot.joint_names, self._on_state, reliable=settings.lockstep, answered=True
        )
        self._readiness = Readiness(self, busy=lambda: self.relay.leads, no_motion=self._objection)
        self._diagnostics = DiagnosticsReporter(self, self._status)
        self.get_logger().info(f"waiting for torques on {self.resolve_topic_name('~/commands')} and for joint_states")

    def _robot_on(self, base: Sequence[float]) -> RobotModel:
        """The arm with gravity as a base has it, as `single_arm` takes that."""
        settings = self._settings
        (arm,) = single_arm(self._arm, settings.robot, base, settings.joint_prefix)
        return arm.robot

    def _make_relay(self, robot: RobotModel) -> EffortRelay:
        return EffortRelay(robot, self._settings.command_timeout, self._settings.period, clock=self._arm_time)

    def _arm_time(self) -> float:
        """The time in which the arm moves, s: the stamps in lockstep, else that of a steady clock."""
        return self._states.time if self._settings.lockstep else time.monotonic()

    def _on_task(self) -> None:
        """Compensate gravity as the task has the base from now on, but not while the arm moves."""
        before = self.relay
        if before.reason and not before.holds or before.leads:
            return
        try:
            self.relay = self._make_relay(self._robot_on(self._bases.numbers([self._arm], [])))
            self.relay.take_over(before)
        except ImpactAwareError as error:
            self.get_logger().warning(f"refused a task: {error}", throttle_duration_sec=2.0)

    def _on_command(self, serialized: bytes) -> None:
        if not self._bases.known():
            return
        now = time.monotonic()
        try:
            values = np.array(decoded(serialized, Float64MultiArray).data)
        except UndecodableError as error:
            self.get_logger().warning(f"commands can't be decoded: {error}", throttle_duration_sec=5.0)
            return
        self.relay.receive(values, now)
        # At once, so that the way through here costs a message and no cycle; but with no positions from long ago.
        if now - self._state_time <= self._settings.state_timeout:
            self._send(now)
        self._log_reason()

    def _on_state(self, stamp: Time) -> None:
        self._state_time = now = time.monotonic()
        if not self.relay.passes_on(now):
            self._send(now)
            self._log_reason()
        self._lockstep.report(stamp)

    def _send(self, now: float) -> None:
        states = self._states
        self._message.torque = self.relay.answer(states.position, states.velocity, now)
        self._message.joint_position = states.position
        self._publisher.publish(self._message)

    def _log_reason(self) -> None:
        """Log when torques end."""
        reason = self.relay.reason
        if reason and not self._logged and not self._leaving:
            self.get_logger().warning(f"holding the arm: {reason}")
            self._diagnostics.report()
        self._logged = reason

    def _objection(self) -> str:
        """Why no motion may begin: the torques have no subscriber except the watchdog."""
        if not self._bases.known():
            return NOT_KNOWN
        topic = self._publisher.topic_name
        takers = {own.node_name for own in self.get_subscriptions_info_by_topic(topic)} - {WATCHDOG}
        return "" if takers else f"no node subscribes to {topic}: is lbr_torque_command_controller loaded?"

    @property
    def finished(self) -> bool:
        """Whether the process may end: it passes no torques on, and the arm is held or was never commanded."""
        relay = self.relay
        return self._leaving and not relay.leads and (relay.holds or not relay.reason)

    def prepare_stop(self) -> None:
        """Keep relaying until the arm has been brought to rest."""
        self._leaving = True

    def close(self) -> None:
        """A last message without torque, with which the driver then goes on."""
        if np.isfinite(self._state_time):
            self._message.torque = np.zeros(JOINTS)
            self._publisher.publish(self._message)

    def _status(self) -> Report:
        relay, silent = self.relay, time.monotonic() - self._state_time
        values: dict[str, object] = {"leads": relay.leads, "largest": float(np.abs(relay.filter.previous).max())}
        if silent > self._settings.state_timeout and np.isfinite(silent):
            return ERROR, f"no joint_states for {1e3 * silent:.0f} ms: nothing is passed on", values
        if relay.reason:
            # Also after an orderly end of the controller.
            return WARN, f"holding the arm: {relay.reason}", values
        if trouble := self._states.trouble():
            return WARN, trouble, values
        return OK, "passing torques on" if relay.leads else "no torques yet", values


main = partial(run_node, KukaFriRelayNode, prompt=True)
