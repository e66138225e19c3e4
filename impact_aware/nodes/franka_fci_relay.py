"""Node `franka_fci_relay`: a Franka by libfranka; its states out as joint_states, laws in, and what it reports.

A process of its own holds libfranka and answers each state (`impact_aware.franka.driver`); this one publishes and
subscribes. An arm that stops by itself is reported on `driver/heartbeat` before any of its later states, and is only
read until `~/recover` clears its errors and holds it where it is. One relay for each arm, in the arm's namespace.
"""

from __future__ import annotations

import contextlib
import select
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from impact_aware_msgs.msg import Heartbeat
from impact_aware_msgs.msg import LocalLaw as LawMessage
from rclpy.node import Node
from std_srvs.srv import Trigger

from impact_aware.bringup.command_path import COMMAND_TOPICS
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.franka.channel import BRAKING, ENDED, FOLLOWING, JOINTS, STARTING, STOPPED, WATCHING, WORKING, Channel
from impact_aware.franka.connection import REALTIME, library
from impact_aware.franka.driver import CONTROL, LEAVE, RECOVER, DriverSettings
from impact_aware.messages.local_law import law_from_message
from impact_aware.nodes.bases import NOT_KNOWN, TaskBases
from impact_aware.nodes.plant_time import SimulatedClock
from impact_aware.nodes.state_publisher import StatePublisher
from impact_aware.parameters import described
from impact_aware.robot import RobotModel
from impact_aware.ros.diagnostics import ERROR, OK, WARN, DiagnosticsReporter, Report
from impact_aware.ros.liveness import PERIOD, Heartbeats
from impact_aware.ros.messages import UndecodableError, decoded, stamp
from impact_aware.ros.qos import COMMAND_QOS
from impact_aware.ros.readiness import Readiness
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware.ros.timers import steady_timer
from impact_aware.task.arms import single_arm

MODES = ("other", "idle", "move", "guiding", "reflex", "user stopped", "automatic error recovery")
"""Robot modes of libfranka, by number."""

RECOVERY = 5.0
"""Longest time that the arm may take to clear its errors, s."""

WAKE = 0.1
"""Longest sleep of the thread that publishes states, s."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    address: str = described("172.16.0.2", "name or IP address of the arm")
    robot: str = described("fr3", "robot profile of the arm, by name or file")
    joint_prefix: str = described("", "what stands before the names of its joints, such as left_")
    base: list[float] = described(
        [], "pose of its base: x, y, z (m) and yaw, or roll, pitch, yaw (rad), or a quaternion; empty: upright"
    )
    base_from_task: bool = described(
        False, "the base is that of the task, which reference_field looks up in TF; the arm is only read before"
    )
    control: bool = described(False, "hold the arm and follow laws; otherwise only its states are read")
    realtime: str = described("enforce", "whether libfranka refuses a kernel without real time", choices=REALTIME)
    priority: int = described(80, "of the process with libfranka under SCHED_FIFO, with realtime: enforce", 1, 98)
    connect_timeout: float = described(10.0, "time within which the arm must have answered, s", 0.1, 60.0)


class FrankaFciRelayNode(Node):
    """Between the topics and the process with libfranka."""

    def __init__(self, **ros: Any) -> None:
        """Connect; the arm is held at once with `control`; `ros` goes to rclpy's node.

        Raises:
            InvalidInputError: No bindings, no arm at the address, one of another version, or an arm without seven
                joints that adds gravity itself.
        """
        super().__init__("franka_fci_relay", **ros)
        settings = self._settings = load_settings(self, Settings)
        library()
        self._arm = self.get_namespace().strip("/").rpartition("/")[2]
        self._bases = TaskBases(self, settings.base_from_task, self._on_task)
        robot = self._robot_on(settings.base)
        profile = robot.profile
        if robot.n != JOINTS or profile is None or profile.command_includes_gravity:
            expected = f"an arm of {JOINTS} joints with command_includes_gravity: false, as libfranka takes torques"
            raise InvalidInputError("parameter robot", settings.robot, expected)
        self._names = robot.joint_names
        self._simulated = bool(self.get_parameter("use_sim_time").value)
        self._heartbeats = Heartbeats(self, ["driver"])
        self._states = StatePublisher(self, "joint_states", robot.joint_names)
        self._plant_clock = SimulatedClock(self, 0.001) if self._simulated else None
        if self._plant_clock is not None:
            self._plant_clock.begin()
        self._last: Any = None
        self._arrival, self._reported, self._law_time = -np.inf, 0, 0.0
        self._state, self._detail = STARTING, "connecting"
        self._leaving = self._closing = False
        self._base = list(settings.base)
        self._process: subprocess.Popen[bytes] | None = None
        self._start()
        self.create_subscription(LawMessage, COMMAND_TOPICS["local_law"], self._on_law, COMMAND_QOS, raw=True)
        self.create_service(Trigger, "~/recover", self._on_recover)
        self._readiness = Readiness(self, busy=lambda: self.phase == FOLLOWING, no_motion=self._objection)
        self._diagnostics = DiagnosticsReporter(self, self._status)
        steady_timer(self, PERIOD, self._look)
        self.get_logger().info(f"connected to {settings.address}: {self._detail}")

    @property
    def phase(self) -> int:
        """What the process with libfranka did with the last state; one that has stopped or ended only watches."""
        return WATCHING if self._last is None or self._state != WORKING else int(self._last["phase"])

    @property
    def finished(self) -> bool:
        """Whether the process with libfranka has brought the arm to rest and ended."""
        return self._leaving and (self._process is None or self._process.poll() is not None)

    stop_timeout = 3.0

    def prepare_stop(self) -> None:
        """Request that the process with libfranka brings the arm to rest and ends."""
        self._leaving = True
        self._channel.put_request(**{LEAVE: True})

    def close(self) -> None:
        """Leave the arm."""
        self._stop_process()

    def _robot_on(self, base: Sequence[float]) -> RobotModel:
        (arm,) = single_arm(self._arm, self._settings.robot, base, self._settings.joint_prefix)
        return arm.robot

    def _start(self) -> None:
        """Start the process with libfranka, and wait until it is connected.

        Raises:
            InvalidInputError: It can't be.
        """
        own = self._settings
        base, controlled = tuple(self._base), own.control and self._bases.known()
        words = own.robot, own.joint_prefix, base, controlled, own.realtime, self._simulated, own.priority
        self._channel, self._closing = Channel(), False
        self._process = DriverSettings(own.address, *words).start(self._channel)
        deadline = time.monotonic() + own.connect_timeout
        self._state, self._detail = STARTING, "connecting"
        while self._state == STARTING and time.monotonic() < deadline and self._process.poll() is None:
            select.select([self._channel.fds[1]], [], [], WAKE)
            self._take_report()
        self._take_report()
        if self._state not in (WORKING, STOPPED):
            detail = self._detail if self._state == ENDED else f"no answer within {own.connect_timeout:g} s"
            self._stop_process()
            if self._state == ENDED:
                raise ImpactAwareError(detail)
            raise InvalidInputError("arm", f"{own.address}: {detail}", "a Franka with FCI active")
        self._reader = threading.Thread(target=self._publish_states, name="states", daemon=True)
        self._reader.start()

    def _stop_process(self) -> None:
        if self._process is None:
            return
        self._channel.put_request(**{LEAVE: True})
        try:
            self._process.wait(self.stop_timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process, self._closing = None, True
        if (reader := getattr(self, "_reader", None)) is not None:
            reader.join(1.0)
        self._channel.close()

    # States and reports, in a thread of their own

    def _publish_states(self) -> None:
        channel = self._channel
        while not self._closing:
            select.select([channel.fds[1]], [], [], WAKE)
            channel.drain()
            for state in channel.take_states():
                # What ended a motion is known before any state after it.
                if state["report"] > self._reported:
                    self._take_report()
                self._publish_state(state)
            self._take_report()

    def _publish_state(self, state: Any) -> None:
        self._last, self._arrival = state, time.monotonic()
        self._law_time = max(self._law_time, float(state["law_time"]))
        with contextlib.suppress(Exception):  # rclpy has no common class for what a destroyed publisher raises
            if self._plant_clock is not None:
                self._plant_clock.publish(float(state["stamp"]), float(state["time"]), always=True)
            reading = SimpleNamespace(q=state["q"], dq=state["dq"], effort=state["effort"])
            self._states.publish(reading, stamp(float(state["stamp"])))

    def _take_report(self) -> None:
        self._reported = self._channel.reports
        report = self._channel.take_report()
        if not report:
            return
        before = self._state, self._detail
        self._state, self._detail = int(report["state"]), str(report["detail"])
        if before == (self._state, self._detail):
            return
        if self._state == STOPPED:
            self.get_logger().error(f"the arm has stopped: {self._detail}")
        self._beat()

    # What others send

    def _on_law(self, serialized: bytes) -> None:
        try:
            law = law_from_message(decoded(serialized, LawMessage))
            if law.joint_names != self._names:
                raise InvalidInputError("law.joint_names", list(law.joint_names), f"{list(self._names)}")
        except (UndecodableError, InvalidInputError) as error:
            self.get_logger().warning(f"dropped a law: {error}", throttle_duration_sec=2.0)
            return
        self._channel.put_law(law)

    def _on_recover(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self.phase == FOLLOWING:
            response.success, response.message = False, "the arm follows laws: nothing to recover from"
            return response
        try:
            if self._process is None or self._process.poll() is not None:
                self._stop_process()
                self._start()
            self._channel.put_request(**{RECOVER: True, CONTROL: self._settings.control})
        except ImpactAwareError as error:
            response.success, response.message = False, str(error)
            return response
        before, deadline = self._reported, time.monotonic() + RECOVERY
        while time.monotonic() < deadline and self._reported == before:
            time.sleep(0.01)
        response.success, response.message = self._state == WORKING, self._detail
        return response

    def _on_task(self) -> None:
        """Compensate gravity as the task has the base from now on, but not while the arm follows laws."""
        base = self._bases.numbers([self._arm], [])
        if not self._settings.control:
            return
        if base == self._base:
            self._channel.put_request(**{CONTROL: True})
        elif self.phase not in (FOLLOWING, BRAKING):
            self._base = base
            self._stop_process()
            self._start()

    def _look(self) -> None:
        if self._process is not None and self._process.poll() is not None and not self._leaving:
            if self._state != ENDED or not self._detail:
                self._detail = "the process with libfranka has ended"
            self._state = ENDED
        self._beat()

    def _beat(self) -> None:
        known = {STARTING: Heartbeat.STATE_WAITING, WORKING: Heartbeat.STATE_WORKING}
        with contextlib.suppress(Exception):  # as above
            self._heartbeats.beat(known.get(self._state, Heartbeat.STATE_STOPPED), self._detail)

    def _objection(self) -> str:
        """Why no motion must begin."""
        if not self._bases.known():
            return NOT_KNOWN
        if self._state != WORKING:
            return f"the arm has stopped: {self._detail}"
        return "" if self.phase != WATCHING else "the arm is only read: parameter control is false"

    def _status(self) -> Report:
        last, silent = self._last, time.monotonic() - self._arrival
        values: dict[str, object] = {"address": self._settings.address}
        if last is not None:
            values |= {
                "robot_mode": MODES[int(last["mode"])] if last["mode"] < len(MODES) else int(last["mode"]),
                "success_rate": float(last["success_rate"]),
                "states_lost": int(last["lost"]),
                "laws_refused": int(last["refused"]),
                "law_time_max": self._law_time,
                "tau_J_d": last["desired"].round(3).tolist(),
                "external_torque": last["external"].round(3).tolist(),
            }
        self._law_time = 0.0
        if self._state != WORKING:
            return ERROR, f"the arm has stopped: {self._detail}", values
        if silent > 0.02 and np.isfinite(silent) and not self._simulated:
            return ERROR, f"no state of the arm for {1e3 * silent:.0f} ms", values
        words = "only reading", "holding the arm", "following laws", "braking after the last law"
        return WARN if self.phase == BRAKING else OK, words[self.phase], values


main = partial(run_node, FrankaFciRelayNode, prompt=True)
