"""How soon every node ends when asked to, by SIGINT and SIGTERM, in every state, and what it leaves the arm with.

The graph runs in lockstep until it is in the state that is asked for. Then all nodes are sent the signal at once,
except the plant: it stands for the robot's driver, goes on, and is asked when the others have ended. In the state
`everything` the plant is asked with the others, as by Ctrl-C in `ros2 launch`.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from impact_aware.bringup.graph import DualArmOptions, SingleArmOptions, dual_arm_graph, single_arm_graph
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.bringup.processes import NodeProcess
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.robot import RobotModel
from impact_aware.robot.effort_convention import EffortConvention
from impact_aware_rigs.graph_run import GraphRun, Line

PATIENCE = 20.0
"""Time after which a node that still runs counts as not ended, s."""

STATE_PATIENCE = 150.0
"""Longest time until the graph is in the state that is asked for, s."""

IN_MOTION = 0.5
"""Time after the begin of the motion until something is asked of an arm on its way to the impact, s."""

POLL = 0.005
"""Time between two looks, s."""

REQUEST_PERIOD = 0.3
"""Time between two requests to the controller, s."""

SIGNALS = {"INT": signal.SIGINT, "TERM": signal.SIGTERM}

PLANT = "sim_robot"


@dataclass(frozen=True)
class State:
    """A state in which nodes are asked to end.

    Attributes:
        text: In words.
        mode: Mode of the controller to wait for; empty: only wait.
        request: What the controller is asked for on the way: `safe_stop` from the ante-impact mode on, and `reset` from
            the safe mode on.
        control: Whether there is a controller.
        plant_too: Whether the plant is asked with the others.
    """

    text: str
    mode: str = ""
    request: str = ""
    control: bool = True
    plant_too: bool = False


STATES = {
    "just_started": State("half a second after the start", plant_too=True),
    "watching": State("no controller in the graph", control=False, plant_too=True),
    "ante": State("on the way to the impact", "ANTE"),
    "interim": State("right after the impact", "INTERIM"),
    "post": State("pushing or carrying the object", "POST"),
    "done": State("the task is done: one arm holds, several carry on", "DONE"),
    "safe": State("in the safe mode", "SAFE", "safe_stop"),
    "reset": State("active and holding after the safe mode", "IDLE", "reset"),
    "everything": State("on the way to the impact, and the plant ends too", "ANTE", plant_too=True),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare arms, states and signals."""
    parser.add_argument("--arms", type=int, default=1, choices=(1, 2), help="number of arms (default %(default)s)")
    parser.add_argument("--robot", default="panda", help="profile of a single arm (default %(default)s)")
    parser.add_argument("--states", default=",".join(STATES), help="comma-separated (default %(default)s)")
    parser.add_argument("--signals", default=",".join(SIGNALS), help="comma-separated (default %(default)s)")
    parser.add_argument("--running", type=float, default=10.0, help="time for watching, s (default %(default)g)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure; per signal and state the time of each node and what the controller left, and the slowest of all.

    Raises:
        InvalidInputError: No time, or an unknown robot, state or signal.
    """
    if not 1.0 <= options.running <= 600.0:
        raise InvalidInputError("--running", options.running, "1 to 600 s")
    names = _chosen("state", options.states, STATES)
    numbers = _chosen("signal", options.signals, SIGNALS)
    result: dict[str, Any] = {number: {} for number in numbers}
    runs = [(number, name) for number in numbers for name in names]
    for number, name in tqdm(runs, desc="shutdowns", unit="run", disable=options.json or not sys.stderr.isatty()):
        graph = _graph(options, control=STATES[name].control)
        wait = 0.5 if name == "just_started" else options.running
        result[number][name] = shut_down(graph, SIGNALS[number], wait, STATES[name])
    every = [figures for by_state in result.values() for figures in by_state.values()]
    return result | {
        "slowest_s": max(figures["slowest_s"] for figures in every),
        "most_processor_s": max(max(figures["processor_seconds"].values(), default=0.0) for figures in every),
        "had_to_be_killed": sorted({name for figures in every for name in figures["had_to_be_killed"]}),
        "processes_left": sum(figures["processes_left"] for figures in every),
        "furthest_from_gravity": max((figures.get("from_gravity", 0.0) for figures in every), default=0.0),
        "fastest_joint": max((figures.get("fastest_joint", 0.0) for figures in every), default=0.0),
        "aim_s": 2.0,
    }


def shut_down(
    graph: tuple[NodeSpec, ...], number: signal.Signals, wait: float, state: State = STATES["watching"]
) -> dict[str, Any]:
    """Start a graph, wait for a state, send the signal, and see when each process is gone and what it leaves.

    Args:
        graph: The nodes.
        number: The signal.
        wait: Time before it is sent, s, where the state has no mode.
        state: The state to wait for.
    """
    shutdown = Shutdown(graph, state)
    with shutdown.graph:
        shutdown.start()
        reached = shutdown.wait(wait)
        died = [process.spec.full_name for process in shutdown.nodes if not process.running]
        shutdown.end(number)
    return {"reached": reached, "died_before": died, **shutdown.figures()}


class Shutdown:
    """One shutdown of a graph."""

    def __init__(self, nodes: tuple[NodeSpec, ...], state: State) -> None:
        """Prepare; nothing is started yet."""
        self.state, self._specs = state, nodes
        self.graph = GraphRun(self.take)
        self.controller = next((spec for spec in nodes if spec.executable == "rs_controller"), None)
        self.nodes: list[NodeProcess] = []
        self.last_commands: list[Line] = []
        self.modes: list[str] = []
        self.seconds: dict[str, float] = {}
        self.processor: dict[str, float] = {}
        self.left: list[str] = []
        self.done = False

    def start(self) -> None:
        """Start the nodes, before them a logger of the controller's commands."""
        if self.controller is not None:
            arms = {"arms": self.controller.parameters["arms"]} if "arms" in self.controller.parameters else {}
            self.graph.start(NodeSpec("command_logger", "command_logger", parameters=arms), listener=True)
        self.graph.start(*self._specs)
        self.nodes = [self.graph.processes[spec.full_name] for spec in self._specs]

    def take(self, line: Line) -> None:
        """Take in a line of the command logger."""
        if "commands" in line:
            self.last_commands.append(line)
        if str(line.get("node", "")).endswith("/rs_controller"):
            mode = str(line.get("mode", ""))
            self.done = self.done or line.get("done") == "True"
            if mode and (not self.modes or self.modes[-1] != mode):
                self.modes.append(mode)

    def wait(self, seconds: float) -> bool:
        """Until the state is there; returns whether it is."""
        if not self.state.mode:
            self._pause(seconds)
            return True
        if self.state.request or self.state.mode == "ANTE":
            if not self._until("ANTE"):
                return False
            self._pause(IN_MOTION)
        if self.state.request and not self._ask("safe_stop", "SAFE"):
            return False
        if self.state.request == "reset":
            return self._ask("reset", "IDLE")
        if self.state.mode == "DONE":
            return self.graph.wait(lambda: self.done, STATE_PATIENCE, POLL)
        return self._until(self.state.mode)

    def _pause(self, seconds: float) -> None:
        self.graph.wait(lambda: False, seconds, POLL)

    def _until(self, mode: str) -> bool:
        return self.graph.wait(lambda: self.modes[-1:] == [mode], STATE_PATIENCE, POLL)

    def _ask(self, request: str, mode: str) -> bool:
        return self.graph.ask(request, lambda: self.modes[-1:] == [mode], PATIENCE, REQUEST_PERIOD)

    def end(self, number: signal.Signals) -> None:
        """Ask everybody, the plant last unless it is asked with the others, and note when each is gone."""
        self.modes = self.modes[-1:]
        last = [process for process in self.nodes if process.spec.executable == PLANT and not self.state.plant_too]
        for group in ([process for process in self.nodes if process not in last], last):
            asked = time.monotonic()
            before = {process.spec.full_name: _processor_time(process.process.pid) for process in group}
            for process in group:
                process.signal(number)
            while time.monotonic() - asked < PATIENCE and any(process.running for process in group):
                self._note(group, asked, before)
                self.graph.listen()
                time.sleep(POLL)
            self._note(group, asked, before)
        self.left = [process.spec.full_name for process in self.nodes if _group_lives(process.process.pid)]

    def _note(self, group: list[NodeProcess], asked: float, before: dict[str, float]) -> None:
        for process in group:
            name = process.spec.full_name
            # Before it is looked after: one that has just ended still tells its times until then.
            used = _processor_time(process.process.pid) - before[name]
            if used >= 0.0:
                self.processor[name] = round(used, 2)
            if not process.running:
                self.seconds.setdefault(name, round(time.monotonic() - asked, 2))

    def figures(self) -> dict[str, Any]:
        """Times, and what the controller left."""
        killed = [process.spec.full_name for process in self.nodes if process.spec.full_name not in self.seconds]
        figures: dict[str, Any] = {
            "seconds": self.seconds,
            "processor_seconds": self.processor,
            "slowest_s": max(self.seconds.values(), default=PATIENCE) if not killed else PATIENCE,
            "had_to_be_killed": killed,
            "processes_left": len(self.left),
        }
        if self.state.mode:
            # The mode changes to SAFE when the signal came; one that it changed to in between is the one it found.
            before = [mode for mode in self.modes if mode != "SAFE"]
            figures["mode_when_asked"] = before[-1] if before else "SAFE"
            assert self.controller is not None
            figures |= left_behind(self.last_commands, self.controller.parameters)
        return figures


def left_behind(last_commands: list[Line], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """How far last commands are from gravity compensation, share of the torque limit, and the speed then, rad/s.

    Nothing is said of an arm whose commands did not reach the command logger, as DDS introduced it too late.

    Args:
        last_commands: The last line of the command logger for each arm.
        parameters: Of the controller, which name the robots.
    """
    worst, fastest, count = 0.0, 0.0, 0
    for line in last_commands:
        if not (line["command"] and line["names"]):
            continue
        count += int(line["commands"])
        arm = str(line["arm"])
        robots = parameters["robots"][parameters["arms"].index(arm)] if arm else parameters["robot"]
        robot = RobotModel.from_profile(robots)
        columns = [line["names"].index(name) for name in robot.joint_names]
        position, velocity = (np.array(line[key])[columns] for key in ("position", "velocity"))
        expected = EffortConvention([robot]).to_command(robot.gravity(position), position)
        worst = max(worst, float(np.max(np.abs(np.array(line["command"]) - expected) / robot.limits.effort)))
        fastest = max(fastest, float(np.max(np.abs(velocity))))
    return {"commands": count, "from_gravity": round(worst, 4), "fastest_joint": round(fastest, 4)}


def _processor_time(pid: int) -> float:
    """What a process has used of the processors, s; minus infinity where it is not known."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return -math.inf
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _group_lives(pid: int) -> bool:
    """Whether any process of the session that a node began is left."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _graph(options: argparse.Namespace, *, control: bool) -> tuple[NodeSpec, ...]:
    if options.arms == 1:
        return single_arm_graph(SingleArmOptions(robot=options.robot, lockstep=True, control=control))
    if options.robot != "panda":
        raise InvalidInputError("--robot", options.robot, "none with --arms 2: the task names both robots")
    return dual_arm_graph(DualArmOptions(lockstep=True, control=control))


def _chosen(what: str, given: str, known: dict[str, Any]) -> list[str]:
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise UnknownNameError(what, name, tuple(known))
    if not names:
        raise UnknownNameError(what, given, tuple(known))
    return names
