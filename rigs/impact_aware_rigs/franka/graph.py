"""The whole graph over DDS on a simulated arm: relay, detector, predictor, field and controller, each a process.

The arm's time goes on at a quarter of wall time at most, and no further than `AHEAD` beyond the last state that
detector, predictor and controller have answered (`step_done`): a machine that holds one of them up changes no result.
Between the relay and the others stands a `Link`, which passes states, heartbeats and laws on, or does not.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from impact_aware_msgs.msg import Heartbeat, ImpactEvent, LocalLaw, StepDone
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from impact_aware.bringup.graph import SingleArmOptions, single_arm_graph
from impact_aware.bringup.middleware import choose_transport
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.control.command import Mode
from impact_aware.experiments.episode import Sight
from impact_aware.experiments.episode_settings import Camera
from impact_aware.franka.prepare import preparation, prepare
from impact_aware.messages.geometry import write_quaternion, write_vector
from impact_aware.messages.stamps import STAMP, STAMP_OFFSET, seconds
from impact_aware.nodes.lockstep import TOPIC as STEP_DONE
from impact_aware.resources import read_named
from impact_aware.robot import RobotModel
from impact_aware.ros.messages import stamp
from impact_aware.ros.qos import COMMAND_QOS, EVENT_QOS, HEARTBEAT_QOS, STEP_DONE_QOS, state_qos
from impact_aware.task import load_task, start_posture
from impact_aware_rigs.franka.arm import SimulatedFranka
from impact_aware_rigs.franka.options import PERIOD
from impact_aware_rigs.franka.world import CHANGES, ROBOT, TASK, draw
from impact_aware_rigs.graph_run import GraphRun

RATE = 0.25
"""Fastest rate of the arm's time, seconds per second of wall time."""

AHEAD = 3 * PERIOD
"""Lead of the arm over the answering nodes, s: fewer states than the controller's queue holds."""

PATIENCE = 300.0
"""Longest wait for an event that takes a few seconds of the arm's time, s of wall time."""

RELAY, CONTROLLER = "franka_fci_relay", "rs_controller"
ANSWERING = ("impact_detector", "jump_predictor", CONTROLLER)

STATE_TIMEOUT = 2.0
"""Timeout of the controller, s of wall time: its usual 0.1 s at the rate of `FrankaGraph.alone`."""

STIFFNESS = 3.2e5
"""Stiffness for which the arm is prepared, N/m: of the stiffest pad of `draw`, 1.28 kg over the square of 2 ms."""

LOOK_EVERY = 10
"""States between two requests for the object's pose."""

ALONE = 0.05
"""Rate of an arm that waits for no node, seconds per second of wall time."""


class Link(Node):
    """Passes messages on between the relay and the rest of the graph, sees the object, and keeps the arm in step.

    Attributes:
        silent: Whether nothing is passed on.
        free: Whether the arm waits for no node.
        change: Makes of each law the one that is passed on.
        time: Of the last state of the arm, s.
        mode: Of the last law that the controller has sent.
        impacts: Events of the detector.
        reports: The last status of each node on `/diagnostics`.
    """

    def __init__(self, arm: SimulatedFranka, context: rclpy.Context, sight: Sight | None = None) -> None:
        """Pass everything on; what sees the object gives its poses."""
        super().__init__("link", context=context)
        self._arm, self._answered, self._shared = arm, dict[str, float](), threading.Lock()
        self.silent, self.free, self.time, self.mode = False, False, 0.0, Mode.IDLE
        self.change: Callable[[LocalLaw], LocalLaw] | None = None
        self.impacts: list[ImpactEvent] = []
        self.reports: dict[str, dict[str, str]] = {}
        self._sight, self._states = sight, 0
        self._poses = self.create_publisher(PoseStamped, "object_pose", 10) if sight else None
        # A heartbeat before the states that come after it.
        for kind, topic, qos, note in (
            (Heartbeat, "driver/heartbeat", HEARTBEAT_QOS, lambda raw: raw),
            (JointState, "joint_states", state_qos(reliable=True), self._note_state),
            (LocalLaw, "local_law", COMMAND_QOS, self._note_law),
        ):
            first, then = ("sent/", "") if topic == "local_law" else ("", "passed/")
            out = self.create_publisher(kind, then + topic, qos)
            self.create_subscription(kind, first + topic, partial(self._pass, out, note), qos, raw=True)
        self.create_subscription(StepDone, STEP_DONE, self._on_answer, STEP_DONE_QOS)
        self.create_subscription(ImpactEvent, "impacts", self.impacts.append, EVENT_QOS)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 50)

    def release(self) -> None:
        """Let the arm wait for no node."""
        with self._shared:
            self.free = True
            self._answered.clear()
            self._arm.go_until(np.inf)

    def _pass(self, out: Any, note: Callable[[bytes], bytes], raw: bytes) -> None:
        passed = note(raw)
        if not self.silent:
            out.publish(passed)

    def _note_state(self, raw: bytes) -> bytes:
        whole, rest = STAMP.unpack_from(raw, STAMP_OFFSET)
        self.time = whole + 1e-9 * rest
        if self._sight is not None and self._poses is not None:
            if self._states % LOOK_EVERY == 0:
                self._pose = np.array(self._arm.object_pose)
            self._states += 1
            for time_seen, place in self._sight.see(self.time, self._pose[:3]):
                seen = PoseStamped()
                seen.header.frame_id, seen.header.stamp = CHANGES["frame"], stamp(time_seen)
                write_vector(seen.pose.position, place)
                write_quaternion(seen.pose.orientation, self._pose[[4, 5, 6, 3]])
                self._poses.publish(seen)
        return raw

    def _note_law(self, raw: bytes) -> bytes:
        law = deserialize_message(raw, LocalLaw)
        self.mode = Mode(law.mode)
        return raw if self.change is None else serialize_message(self.change(law))

    def _on_answer(self, message: StepDone) -> None:
        with self._shared:
            if self.free:
                return
            before = min(self._answered.values(), default=0.0)
            self._answered[message.node] = seconds(message.stamp)
            if (now := min(self._answered.values())) > before:
                self._arm.go_until(now + AHEAD)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            name = status.name.rpartition("/")[2].partition(":")[0]
            self.reports[name] = {own.key: own.value for own in status.values} | {"message": status.message}


class FrankaGraph:
    """A context in which the graph runs on a simulated arm, from before its hit-and-push.

    Attributes:
        arm: The simulated arm.
        link: What stands between relay and controller.
        run: The processes.
    """

    def __init__(self, number: int = 4, bag: Path | None = None, camera: Camera | None = None) -> None:
        """Take the world that `draw` makes for a number; record to a new `bag`, and see the object by a `camera`."""
        self._bag, self._sight = bag, None if camera is None else Sight(camera, number)
        self._task, self._robot = load_task(TASK, CHANGES), RobotModel.from_profile(ROBOT)
        posture = tuple(start_posture(self._task.arms[0], self._robot).tolist())
        self.arm = SimulatedFranka(rate=RATE, posture=posture, truth=draw(number), changes=CHANGES)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Prepare the arm, and start everything; the motion begins by itself."""
        with self._stack:
            arm = self._stack.enter_context(self.arm)
            self.run = self._stack.enter_context(GraphRun())
            task = self.run.folder / "task.yaml"
            task.write_text(yaml.safe_dump(read_named("task", "tasks", TASK)[0] | CHANGES), encoding="utf-8")
            prepare(preparation(str(task), ROBOT, stiffness=STIFFNESS), arm.address, "ignore")
            choose_transport(os.environ)
            context = rclpy.Context()
            rclpy.init(context=context, domain_id=self.run.domain)
            self._stack.callback(context.try_shutdown)
            self.link = Link(arm, context, self._sight)
            self._spinner = SingleThreadedExecutor(context=context)
            self._spinner.add_node(self.link)
            spinning = threading.Thread(target=self._spinner.spin, daemon=True)
            spinning.start()
            # No message is passed on by a context that has ended.
            self._stack.callback(spinning.join, 5.0)
            self._stack.callback(self._spinner.shutdown, 5.0)
            self._services_called = {
                name: self.link.create_client(Trigger, name)
                for name in (f"{RELAY}/recover", *(f"{CONTROLLER}/{own}" for own in ("reset", "start", "safe_stop")))
            }
            nodes = _nodes(str(task), arm.address)
            if self._bag is not None:
                recording = {"bag": str(self._bag), "time_of_states": True}
                nodes.insert(0, NodeSpec("bag_recorder", "bag_recorder", parameters=recording))
            self.run.start(*nodes)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        """End everything."""
        # No node answers any more: the arm goes on, so that it is brought to rest.
        with contextlib.suppress(RuntimeError):
            self.alone()
            self.arm.pace(RATE)
        self._stack.close()

    def until(self, condition: Callable[[], bool], span: float = np.inf) -> bool:
        """Wait for a condition; whether it came within `span` s of the arm's time.

        Raises:
            RuntimeError: A process has ended by itself, or neither within `PATIENCE` s of wall time.
        """
        begin, limit = self.arm.time, time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > limit:
                raise RuntimeError(f"nothing within {PATIENCE:g} s: {self.link.reports.get(CONTROLLER)}")
            if self.arm.time > begin + span:
                return False
            time.sleep(0.01)
        return True

    def alone(self) -> None:
        """Let the arm's time go on without answers, at `ALONE` of wall time."""
        self.arm.pace(ALONE)
        self.link.release()

    def together(self) -> None:
        """Wait for answers again."""
        self.link.free = False
        self.arm.pace(RATE)

    def silence(self, span: float) -> None:
        """Pass nothing on for so many s of the arm's time."""
        self.alone()
        self.link.silent = True
        end = self.arm.time + span
        self.until(lambda: self.arm.time >= end)
        self.link.silent = False
        self.together()

    def kill(self, name: str) -> None:
        """End a process by SIGKILL; the arm goes on alone, with what is left of its messages."""
        self.kill_pid(self.run.processes[name].process.pid)
        self.run.processes[name].process.wait()
        self.link.reports.pop(name, None)

    def kill_pid(self, pid: int) -> None:
        """End a process by its number with SIGKILL; the arm goes on alone."""
        self.alone()
        os.kill(pid, signal.SIGKILL)

    def restart(self, name: str) -> None:
        """Start a node anew, once DDS has forgotten what it published."""
        topics = {RELAY: ("/clock", "/joint_states"), CONTROLLER: ("/sent/local_law",)}[name]
        self.until(lambda: not any(self.link.count_publishers(topic) for topic in topics))
        self.run.restart(name)
        self.together()

    def ask(self, service: str) -> str:
        """Call a service; its refusal in a sentence, empty when it did what it is for."""
        client = self._services_called[service]
        if not client.wait_for_service(PATIENCE):
            return f"no service {service}"
        future = client.call_async(Trigger.Request())
        self.until(future.done)
        answer = future.result()
        return "" if answer.success else answer.message

    def put_back(self) -> None:
        """Guide the arm to its start and put the object there, as a person would after the hit."""
        self.guide(self.arm.options.posture, 3.0)
        self.arm.put_back()

    def guide(self, posture: Sequence[float], span: float) -> None:
        """Guide the arm to a posture (7,), rad, within so many s."""
        self.arm.guide(posture, span)
        self.until(lambda: self.arm.mode != "Guiding")

    def recover(self) -> str:
        """Clear the arm's errors, and begin a motion from where it is; the last refusal, empty when it moves."""
        self.together()
        if refusal := self.ask(f"{RELAY}/recover"):
            return refusal
        return self.again()

    def again(self) -> str:
        """Reset the controller and begin a motion; the last refusal, empty when it moves."""
        refusal, limit = "not requested", self.arm.time + 3.0
        while refusal and self.arm.time < limit:
            # Whose states were silent may need a second one: the first came before the states did.
            refusal = self.ask(f"{CONTROLLER}/reset") or self.ask(f"{CONTROLLER}/start")
            time.sleep(0.3)
        return refusal

    def reason(self) -> str:
        """Why the controller is in the safe mode; empty when it is not."""
        report = self.link.reports.get(CONTROLLER, {})
        safe = report.get("mode") == Mode.SAFE.name and "reason" in report
        return f"{report['reason']}: {report['detail']}" if safe else ""


def _nodes(task: str, address: str) -> list[Any]:
    options = SingleArmOptions(
        simulation=False, markers=False, task=task, robot=ROBOT, command_interface="local_law", driver=RELAY,
        addresses=(address,),
    )  # fmt: skip
    nodes = []
    for spec in single_arm_graph(options):
        parameters, remappings = spec.parameters | {"use_sim_time": True}, dict(spec.remappings)
        if spec.executable in ANSWERING:
            parameters["lockstep"] = True
            remappings["joint_states"] = "passed/joint_states"
        if spec.executable == CONTROLLER:
            parameters |= {"state_timeout": STATE_TIMEOUT, "upstream_timeout": 5.0}
            remappings |= {"local_law": "sent/local_law", "driver/heartbeat": "passed/driver/heartbeat"}
        if spec.executable == RELAY:
            parameters |= {"realtime": "ignore", "connect_timeout": 60.0}
        nodes.append(replace(spec, parameters=parameters, remappings=remappings))
    return nodes
