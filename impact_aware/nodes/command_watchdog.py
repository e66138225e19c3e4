"""Node `command_watchdog`: takes the controllers off the arms when what they are commanded is not to be trusted.

A process of its own, so that it lives when `rs_controller` dies or hangs: ros2_control's forward controllers go on
with the last torque for ever. Its heartbeat is what `rs_controller` needs to go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from impact_aware_msgs.msg import ControllerState, Heartbeat
from rclpy.client import Client
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from impact_aware.arrays import Array
from impact_aware.bringup.command_path import OVERLAY, OVERLAY_TYPE, WATCHED_TOPICS
from impact_aware.control.command_watch import CommandWatch, LawAge, effort_refusal
from impact_aware.control.local_law import DEFAULT_VALIDITY
from impact_aware.errors import InvalidInputError
from impact_aware.messages.linear_feedback import TYPE as CONTROL_TYPE
from impact_aware.messages.local_law import TYPE as LAW_TYPE
from impact_aware.messages.local_law import law_from_message
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.parameters import described
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import INTERFACES
from impact_aware.ros.controller_switch import ComponentSwitch, ControllerSwitch, Deactivation, Outcome
from impact_aware.ros.diagnostics import ERROR, OK, WARN, DiagnosticsReporter, Report
from impact_aware.ros.liveness import Heartbeats
from impact_aware.ros.messages import UndecodableError, decoded, effort_begin, message_class
from impact_aware.ros.qos import LATEST_QOS, STREAM_QOS
from impact_aware.ros.readiness import Readiness
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware.ros.timers import steady_timer

LOOK_PERIOD = 0.002
"""Wall time between two looks at the age of the commands, s."""

HEARTBEAT_LOOKS = 10
"""Looks from each heartbeat to the next."""

HELD_UP = 10.0
"""A look is late when it comes after so many periods."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    arms: list[str] = described([], "names of several arms, which stand before their topics; empty: a single arm")
    robots: list[str] = described(["panda"], "robot profiles: one for all arms, or one each")
    command_interface: str = described(
        "effort", "what the arms are commanded by, or what a relay makes of it", choices=(*INTERFACES, OVERLAY)
    )
    controllers: list[str] = described(
        ["effort_controller"], "controllers of each arm's controller manager that are deactivated"
    )
    controller_manager: str = described(
        "controller_manager", "node of the controller manager, below each arm's name; empty: there is none"
    )
    hardware_components: list[str] = described(
        [], "hardware components that are set inactive too, for drivers that go on with the last torque"
    )
    stop_services: list[str] = described(
        [], "services std_srvs/Trigger that are called too, such as a driver's stop, below the node's namespace"
    )
    command_timeout: float = described(0.02, "longest time without a command, s of wall time", 0.005, 60.0)
    repeat_timeout: float = described(
        0.1, "longest time with nothing but the same command, s of wall time; 0: for as long as it likes", 0.0, 60.0
    )


class CommandWatchdogNode(Node):
    """Looks at the commands of all arms; whatever is wrong with one stops them all."""

    def __init__(self, **ros: Any) -> None:
        """Look for the controller manager, and wait for the first command; `ros` goes to rclpy's node."""
        super().__init__("command_watchdog", **ros)
        settings = load_settings(self, Settings)
        self.finished = False
        self._settings = settings
        prefixes = [f"{name}/" for name in settings.arms] or [""]
        limits = _limits(settings.robots, len(prefixes))
        self.switches: list[Deactivation] = []
        for manager in (f"{prefix}{settings.controller_manager}" for prefix in prefixes if settings.controller_manager):
            self.switches.append(ControllerSwitch(self, manager, settings.controllers))
            self.switches += [ComponentSwitch(self, manager, name) for name in settings.hardware_components]
        if not self.switches and not settings.stop_services:
            expected = "a controller manager or a stop service: without either nothing could be stopped"
            raise InvalidInputError("parameter controller_manager", "nothing, and no stop_services", expected)
        self._stops = [self.create_client(Trigger, name) for name in settings.stop_services]
        self.watches = [self._watch(prefix, limit) for prefix, limit in zip(prefixes, limits, strict=True)]
        self.create_subscription(ControllerState, "controller_state", self._on_controller_state, STREAM_QOS)
        self._reason = ""
        self._looks, self._looked, self._late = 0, time.monotonic(), 0
        self._leaving = False
        self._heartbeats = Heartbeats(self, ["~"])
        self.create_service(Trigger, "~/reset", self._on_reset)
        self._readiness = Readiness(self)
        self._diagnostics = DiagnosticsReporter(self, self._status)
        steady_timer(self, LOOK_PERIOD, self._look)
        topics = (f"{prefix}{WATCHED_TOPICS[settings.command_interface]}" for prefix in prefixes)
        self.get_logger().info(f"waiting for the first command on {', '.join(map(self.resolve_topic_name, topics))}")

    def _watch(self, prefix: str, limit: Array) -> CommandWatch:
        """Subscribe to one arm's commands."""
        settings = self._settings
        kind, read = self._reader(limit)
        topic = f"{prefix}{WATCHED_TOPICS[settings.command_interface]}"
        watch = CommandWatch(
            self.resolve_topic_name(topic), settings.command_timeout, settings.repeat_timeout, LOOK_PERIOD
        )
        # Best effort: the publisher of the commands must not wait for an observer.
        self.create_subscription(kind, topic, partial(self._on_command, watch, read), LATEST_QOS, raw=True)
        return watch

    def _reader(self, limit: Array) -> tuple[Any, Callable[[bytes], tuple[object, str]]]:
        """Message type of the commands, and a function from a serialized message to its identity and a refusal.

        Two messages with equal identity repeat each other. It is None for one after which no other is required.
        """
        interface = self._settings.command_interface
        if interface == "effort":
            return Float64MultiArray, partial(_read_effort, effort_begin(limit.size), limit)
        if interface == OVERLAY:
            kind = message_class(OVERLAY_TYPE)
            return kind, partial(_read_overlay, kind, limit)
        kind = message_class(LAW_TYPE if interface == "local_law" else CONTROL_TYPE)
        age = LawAge(lambda: self.get_clock().now().nanoseconds * 1e-9)
        return kind, partial(_read_law if interface == "local_law" else _read_control, kind, limit, age)

    def _on_command(self, watch: CommandWatch, read: Callable[[bytes], tuple[object, str]], serialized: bytes) -> None:
        try:
            content, refusal = read(serialized)
        except UndecodableError as error:
            content, refusal = serialized, f"what can't be decoded: {error}"
        if content is None:
            watch.end()
            return
        watch.receive(content)
        if refusal and not self._reason:
            self._stop(f"a command that is none: {refusal}")

    def _on_controller_state(self, state: ControllerState) -> None:
        if state.mode == ControllerState.MODE_IDLE:
            for watch in self.watches:
                watch.end()

    def _look(self) -> None:
        now = time.monotonic()
        self._late += now - self._looked > HELD_UP * LOOK_PERIOD
        self._looked = now
        wrong = [text for watch in self.watches if (text := watch.look(now))]
        if wrong and not self._reason:
            self._stop("; ".join(wrong))
        for switch in self.switches:
            switch.look()
        if self._looks % HEARTBEAT_LOOKS == 0:
            self._heartbeats.beat(*self.state())
        self._looks += 1
        self.finished = self._leaving and (bool(self._reason) or not any(watch.begun for watch in self.watches))

    def _stop(self, reason: str) -> None:
        """Take the controllers off all arms, and stay so until `reset`."""
        self._reason = reason
        for switch in self.switches:
            switch.deactivate()
        for client in self._stops:
            if client.service_is_ready():
                client.call_async(Trigger.Request())
            else:
                self.get_logger().error(f"there is no {self._named(client)} to stop the arm with")
        self._heartbeats.beat(*self.state())
        self.get_logger().error(f"stopped the arms: {reason}")
        self._diagnostics.report()

    def state(self) -> tuple[int, str]:
        """State of its heartbeat, and why it is none of working."""
        if self._reason:
            return Heartbeat.STATE_STOPPED, self._reason
        lacks = [text for switch in self.switches if (text := switch.lacks())]
        lacks += [f"there is no {self._named(client)}" for client in self._stops if not client.service_is_ready()]
        return (Heartbeat.STATE_WAITING, "; ".join(dict.fromkeys(lacks))) if lacks else (Heartbeat.STATE_WORKING, "")

    def _named(self, client: Client) -> str:
        return self.resolve_service_name(client.srv_name)

    def _on_reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._reason = ""
        for switch in self.switches:
            switch.forget()
        for watch in self.watches:
            watch.end()
        response.success, response.message = True, "watching again; the controllers are as they were left"
        self.get_logger().info("reset: watching again")
        self._diagnostics.report()
        return response

    def prepare_stop(self) -> None:
        """Keep watching until the arms have been brought to rest."""
        self._leaving = True

    def _status(self) -> Report:
        state, detail = self.state()
        values: dict[str, object] = {
            "commands": sum(watch.count for watch in self.watches),
            "watching": any(watch.begun for watch in self.watches),
            "stopped": bool(self._reason),
            "late_looks": self._late,
            "looks": self._looks,
        }
        if self.switches:
            values["controllers"] = "; ".join(own.detail or str(own.outcome) for own in self.switches)
        if self._reason:
            off = all(own.outcome is Outcome.OFF for own in self.switches)
            return ERROR, f"stopped the arms: {detail}" + ("" if off else ", but not confirmed"), values
        if state == Heartbeat.STATE_WAITING:
            return WARN, detail, values
        return OK, "watching the commands" if values["watching"] else "no commands yet", values


def _limits(robots: list[str], count: int) -> list[Array]:
    """Torque limits of each arm, N m."""
    names = robots * count if len(robots) == 1 else robots
    if len(names) != count:
        raise InvalidInputError("parameter robots", robots, f"one profile for all arms, or {count}")
    return [RobotModel.from_profile(name).limits.effort for name in names]


def _read_effort(begin: bytes, limit: Array, serialized: bytes) -> tuple[object, str]:
    if len(serialized) == len(begin) + 8 * limit.size and serialized.startswith(begin):
        values = np.frombuffer(serialized, offset=len(begin))
    else:
        values = np.array(decoded(serialized, Float64MultiArray).data)
    return serialized, effort_refusal(values, limit)


def _read_overlay(kind: Any, limit: Array, serialized: bytes) -> tuple[object, str]:
    """Read kuka_fri_relay's command; without torque, which it sends to an arm at rest, its identity is None."""
    message = decoded(serialized, kind)
    torque, position = np.array(message.torque), np.array(message.joint_position)
    refusal = effort_refusal(torque, limit)
    if not refusal and not np.isfinite(position).all():
        refusal = "a position that is not finite"
    return serialized if torque.any() else None, refusal


def _read_law(kind: Any, limit: Array, age: LawAge, serialized: bytes) -> tuple[object, str]:
    try:
        law = law_from_message(decoded(serialized, kind))
    except InvalidInputError as error:
        return serialized, str(error)
    return law.stamp, effort_refusal(law.effort, limit) or age.refusal(law.stamp, law.validity)


def _read_control(kind: Any, limit: Array, age: LawAge, serialized: bytes) -> tuple[object, str]:
    """Read and validate a command for linear_feedback_controller, which validates none itself."""
    message = decoded(serialized, kind)
    stamp, gains = stamp_seconds(message), np.array(message.feedback_gain.data)
    refusal = effort_refusal(np.array(message.feedforward.data), limit)
    if not refusal and (gains.size != 2 * limit.size**2 or not np.isfinite(gains).all()):
        refusal = f"{gains.size} gains for {limit.size} joints, {np.count_nonzero(~np.isfinite(gains))} not finite"
    return stamp, refusal or age.refusal(stamp, DEFAULT_VALIDITY)


main = partial(run_node, CommandWatchdogNode, prompt=True)
