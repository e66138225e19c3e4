"""`impact-aware demo`: the real node graph as processes over DDS, the simulator as plant; it ends by itself.

The demo starts the nodes, watches them, ends them when the task is done, and then reads the bag they left to make the
table, the figure and `summary.json`. When any node dies it brings the arm to the safe mode first.
"""

from __future__ import annotations

import argparse
import math
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from impact_aware.bringup.connections import connected
from impact_aware.bringup.domain import add_domain, own_domain
from impact_aware.bringup.graph import DualArmOptions, SingleArmOptions, dual_arm_graph, single_arm_graph
from impact_aware.bringup.middleware import check_ros
from impact_aware.bringup.node_spec import NodeSpec, in_one_process
from impact_aware.bringup.processes import NodeProcess, end_processes, quiet_environment
from impact_aware.bringup.urgency import IN_THE_LOOP, URGENCY, add_priority, chosen_priority, urgent
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.json_text import json_text
from impact_aware.output_folder import OutputFolder
from impact_aware.recordings.bag import BagError
from impact_aware.report.run_report import RunReport, report_run
from impact_aware.robot.profile import PLANTS, SIMULATED_INTERFACES
from impact_aware.screen import check_screen
from impact_aware.task import load_task, make_field
from impact_aware.task.arms import arms_of_task

TASKS = {
    "hit-and-push": "hit_and_push_palm",
    "hit-and-push-ball": "hit_and_push",
    "dual-arm-grab": "dual_arm_grab",
}
"""The task file of each."""

START_TIMEOUT = 300.0
"""Longest time until the controller is active, s: without caches and beside others, all nodes compile before."""

SAFE_TIMEOUT = 10.0
"""Longest time that the arm may take to come to rest after a node died, s."""

AT_REST = 0.02
"""Joint speed below which the arm counts as at rest, rad/s."""


class DemoFailedError(ImpactAwareError):
    """The run did not reach its end; the message says what happened and what became of the arm."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("task", choices=tuple(TASKS), metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--robot", help="robot profile of a single arm (default: panda)")
    parser.add_argument(
        "--task-file", metavar="FILE", help="a task for as many arms, by name or file (default: the one of that name)"
    )
    parser.add_argument(
        "--plant",
        choices=PLANTS,
        default=PLANTS[0],
        help="joints with elasticity, motors, friction and torque loop, or rigid ones (default: %(default)s)",
    )
    parser.add_argument(
        "--command-interface",
        choices=SIMULATED_INTERFACES,
        default=SIMULATED_INTERFACES[0],
        help="commands of the arms: a torque for every state, or laws between two (default: %(default)s)",
    )
    parser.add_argument("--free-running", action="store_true", help="keep wall time instead of lockstep")
    parser.add_argument(
        "--single-process",
        action="store_true",
        help="the nodes of the suite in one process, beside simulator and recorder",
    )
    parser.add_argument(
        "--displacement",
        type=float,
        nargs=3,
        metavar=("X", "Y", "Z"),
        default=(0.0, 0.0, 0.0),
        help="how far the object truly is from where the task has it, m, which only its poses tell",
    )
    parser.add_argument(
        "--turn", type=float, default=0.0, metavar="DEG", help="by how much it is turned from there about the vertical"
    )
    parser.add_argument("--watch", action="store_true", help="show the scene in a window while it runs")
    parser.add_argument("--seed", type=int, default=0, help="seed of the plant's sensor noise (default: %(default)s)")
    parser.add_argument(
        "--timeout", type=float, default=150.0, help="longest motion, s of wall time (default: %(default)s)"
    )
    parser.add_argument(
        "--start-order", type=int, metavar="SEED", help="start the nodes in a random order, the same for the same seed"
    )
    add_priority(
        parser,
        "simulator, controller and detectors",
        f"default: with --free-running {URGENCY} where the user may, else 0",
    )
    add_domain(parser)


def run(args: argparse.Namespace) -> int:
    """Run the demo, print the table or the JSON, and return the exit status."""
    if not args.timeout > 0.0:
        raise InvalidInputError("--timeout", args.timeout, "a time > 0 s")
    if args.watch:
        check_screen("--watch")
    graph = _graph(args)
    check_ros()
    out = args.out or Path("results") / args.task
    output = OutputFolder(out, "demo", aside=True)
    started = time.monotonic()
    try:
        with own_domain(args.domain, alone=True) as domain, output as folder:
            (folder / "logs").mkdir()
            quiet = args.json or not sys.stderr.isatty()
            demo = Demo(graph, folder, domain, quiet=quiet, single_process=args.single_process, order=args.start_order)
            demo.run(args.timeout)
            report = _report(demo, folder, out, round(time.monotonic() - started, 2))
    except DemoFailedError as error:
        print(f"impact-aware demo: error: {error}", file=sys.stderr)
        if output.kept is not None:
            print(f"impact-aware demo: the logs are in {output.kept / 'logs'}", file=sys.stderr)
        return 1
    _print(report, as_json=args.json)
    if failure := report.failure():
        print(f"impact-aware demo: error: {failure}", file=sys.stderr)
        return 1
    return 0


def _explained(error: BagError, plant: dict[str, Any]) -> str:
    """What a recording lacks did either not happen, or was not recorded: the plant knows."""
    impacts, states = int(plant.get("impacts", 0)), int(plant.get("states", 0))
    if impacts:
        return f"the recording lacks what happened, {impacts} impacts in {states} states of the plant: {error}"
    return f"the plant counts no impact in {states} states: {error}"


def _report(demo: Demo, folder: Path, out: Path, seconds: float) -> RunReport:
    """The report of a run, written beside its bag in `folder`; it speaks of the folder where both will be, `out`."""
    try:
        report = report_run(folder / "bag", folder, demo.node_names)
    except BagError as error:
        raise DemoFailedError(_explained(error, demo.plant)) from error
    report.summary.update(
        realtime_priority=demo.priority,
        wall_s=seconds,
        bag=str(out / "bag"),
        figure=str(out / Path(report.summary["figure"]).name),
    )
    report.write_summary()
    return replace(report, folder=out)


def _graph(args: argparse.Namespace) -> tuple[NodeSpec, ...]:
    """The nodes of the task.

    Raises:
        InvalidInputError: A robot for a task that names its own, or a task that can't be used, or not with this robot.
    """
    options: dict[str, Any] = {
        "lockstep": not args.free_running,
        "seed": args.seed,
        "viewer": args.watch,
        "plant": args.plant,
        "command_interface": args.command_interface,
        "displacement": _finite("--displacement", args.displacement),
        "turn": math.radians(_finite("--turn", [args.turn])[0]),
    }
    options["task"] = args.task_file or TASKS[args.task]
    # In lockstep the plant waits for everybody, so nobody has to be quicker than the others.
    priority = 0 if args.priority is None and not args.free_running else chosen_priority(args.priority)
    if args.task != "dual-arm-grab":
        _check_reach(options["task"], args.robot or "panda")
        graph = single_arm_graph(SingleArmOptions(robot=args.robot or "panda", **options))
    elif args.robot is not None:
        raise InvalidInputError("--robot", args.robot, f"none with {args.task}: its task file names both robots")
    else:
        graph = dual_arm_graph(DualArmOptions(**options))
    return urgent(graph, priority, IN_THE_LOOP)


def _finite(name: str, numbers: Sequence[float]) -> tuple[float, ...]:
    """Refuse what is no number; `Raises` as `_graph`."""
    if not all(map(math.isfinite, numbers)):
        raise InvalidInputError(name, list(numbers), "finite numbers")
    return tuple(numbers)


def _check_reach(name: str, robot: str) -> None:
    """Whether this arm can do the task, before any node is started.

    Raises:
        InvalidInputError: It can't, or there is no such task or robot.
    """
    task = load_task(name)
    robots = [arm.robot for arm in arms_of_task(task, robot)]
    try:
        make_field(task, robots)
    except InvalidInputError as error:
        raise InvalidInputError("robot", robot, f"an arm that can do task {task.name}: {error}") from error


def _print(report: RunReport, *, as_json: bool) -> None:
    if as_json:
        print(json_text(report.summary))
        return
    print(report.table())
    print(f"figure   {report.summary['figure']}")
    print(f"bag      {report.summary['bag']}")
    print(f"summary  {report.folder / 'summary.json'}")
    analysis = report.folder.with_name(f"{report.folder.name}-analysis")
    print(f"\nlook further: impact-aware analyze {report.summary['bag']} --out {analysis}")


class Demo:
    """The processes of one run."""

    def __init__(
        self,
        graph: tuple[NodeSpec, ...],
        folder: Path,
        domain: int,
        *,
        quiet: bool,
        single_process: bool = False,
        order: int | None = None,
    ) -> None:
        """Prepare; nothing is started yet. `order` is the seed of a random order of start."""
        recorder = NodeSpec(
            "bag_recorder", "bag_recorder", parameters={"bag": str(folder / "bag"), "time_of_states": True}
        )
        self._monitor_spec, *nodes = connected((NodeSpec("run_monitor", "run_monitor"), recorder, *graph))
        self._graph = tuple(nodes)
        self._specs = in_one_process(self._graph) if single_process else self._graph
        if order is not None:
            self._specs = tuple(random.Random(order).sample(self._specs, len(self._specs)))
        holds = {own.executable: spec.full_name for spec in self._specs for own in (spec, *spec.members)}
        self._controller = holds["rs_controller"]
        self._folder = folder
        self._domain = domain
        self._quiet = quiet
        self._processes: dict[str, NodeProcess] = {}
        self._latest: dict[str, dict[str, Any]] = {}

    @property
    def plant(self) -> dict[str, Any]:
        """What the plant last said of itself."""
        return self._latest.get("sim_robot", {})

    @property
    def priority(self) -> int:
        """`realtime_priority` that was asked for the controller; 0 for ordinary scheduling."""
        controller = next(spec for spec in self._graph if spec.executable == "rs_controller")
        return int(controller.parameters.get("realtime_priority", 0))

    @property
    def node_names(self) -> list[str]:
        """Names of the nodes of the graph, with their namespaces."""
        return [spec.full_name for spec in self._graph]

    def run(self, timeout: float) -> None:
        """Run until the task is done.

        Raises:
            DemoFailedError: A node died, nothing happened, the controller went to its safe mode, or time ran out.
        """
        environment = quiet_environment(self._domain)
        # Fast DDS keeps its shared memory files under this name; a folder of its own leaves nothing behind.
        with tempfile.TemporaryDirectory(prefix="impact_aware_") as scratch:
            environment["ROS_LOG_DIR"] = scratch
            try:
                self._start(environment)
                self._watch(timeout)
            finally:
                self._end()

    def _start(self, environment: dict[str, str]) -> None:
        logs = self._folder / "logs"
        self._processes["run_monitor"] = NodeProcess(self._monitor_spec, environment, logs, talk=True)
        for spec in self._specs:
            self._processes[spec.full_name] = NodeProcess(spec, environment, logs)

    def _watch(self, timeout: float) -> None:
        with tqdm(total=100, disable=self._quiet, bar_format="{desc} |{bar}| {percentage:3.0f} % {elapsed}") as bar:
            self._wait_for_motion(bar)
            self._follow(bar, timeout)

    def _wait_for_motion(self, bar: tqdm[Any]) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while self._mode() in ("", "IDLE"):
            waiting = str(self._controller_state().get("waiting_for", ""))
            bar.set_description(f"starting the nodes{': ' * bool(waiting)}{waiting}"[:100])
            if time.monotonic() > deadline:
                why = waiting or "it said nothing"
                raise DemoFailedError(
                    f"the controller did not start within {START_TIMEOUT:g} s: {why}\n{self._logged()}"
                )

    def _follow(self, bar: tqdm[Any], timeout: float) -> None:
        deadline, goal = time.monotonic() + timeout, 0.0
        while (mode := self._mode()) != "HOLD" and self._controller_state().get("done") != "True":
            state = self._controller_state()
            if mode == "SAFE":
                raise DemoFailedError(f"the controller went to its safe mode: {state.get('detail', 'no reason given')}")
            if time.monotonic() > deadline:
                raise DemoFailedError(f"the task was not done within {timeout:g} s of wall time (mode {mode})")
            bar.set_description(f"{mode.lower():>8}, {float(state.get('time', 0.0)):6.2f} s")
            left = float(state.get("goal_distance", -1.0))
            goal = max(goal, left)
            if left > 0.0:
                bar.update(max(0, int(100 * (1.0 - left / goal)) - bar.n))
        bar.update(bar.total - bar.n)
        # What was published last is recorded before the nodes end.
        time.sleep(0.3)

    def _mode(self) -> str:
        """The controller's mode as it is a moment later; empty before it has said anything."""
        time.sleep(0.02)
        self._listen()
        self._check_alive()
        return str(self._controller_state().get("mode", ""))

    def _controller_state(self) -> dict[str, Any]:
        return self._latest.get("rs_controller", {})

    def _listen(self) -> None:
        for line in self._processes["run_monitor"].read_lines():
            self._latest[str(line.get("node", "")).lstrip("/")] = line

    def _check_alive(self) -> None:
        for name, process in self._processes.items():
            if not process.running:
                self._make_safe(name)
                ended = ": ".join(filter(None, (f"{process.exit_description()} during the run", process.last_lines(1))))
                raise DemoFailedError(f"{name} {ended}; {self._arm_report(name)}")

    def _make_safe(self, dead: str) -> None:
        """Bring the arm to rest by whoever is left, and wait until it is."""
        monitor = self._processes["run_monitor"]
        if dead == "run_monitor":
            self._processes[self._controller].signal(signal.SIGINT)
            time.sleep(1.0)
            return
        # What was reported before the death says nothing about now: the arm may have begun to move since.
        self._listen()
        self._latest.clear()
        deadline = time.monotonic() + SAFE_TIMEOUT
        while time.monotonic() < deadline and not self._at_rest():
            # Again and again, as the monitor may not have found the controller yet.
            monitor.write_line("safe_stop")
            time.sleep(0.2)
            self._listen()

    def _at_rest(self) -> bool:
        plant = self.plant
        controller = self._latest.get("rs_controller", {})
        # A plant that still holds says little while the controller may be about to send its first command.
        if self._processes[self._controller].running and controller.get("mode") not in ("SAFE", "IDLE"):
            return False
        if not self._processes["sim_robot"].running or plant.get("arm") == "hold":
            return True
        stopped = plant.get("arm") == "brake" or controller.get("mode") == "SAFE"
        return stopped and float(plant.get("largest_speed", 1.0)) < AT_REST

    def _arm_report(self, dead: str) -> str:
        plant = self.plant
        controller = self._latest.get("rs_controller", {})
        if dead == "run_monitor":
            return "the controller was asked to stop and the simulator brakes the arm"
        if dead == "sim_robot":
            return f"the controller is in mode {controller.get('mode', 'unknown')} ({controller.get('reason', '')})"
        if dead == self._controller:
            how = "the simulator braked the arm, as the robot's own reflex does"
        else:
            how = f"the controller is in mode {controller.get('mode', 'unknown')} ({controller.get('reason', '')})"
        speed = float(plant.get("largest_speed", float("nan")))
        return f"{how}, largest joint speed {speed:.3f} rad/s"

    def _logged(self) -> str:
        return "\n".join(f"  {name}: {process.last_lines(1)}" for name, process in self._processes.items())

    def _end(self) -> None:
        """The controller first, so that its safe command still reaches the plant; the recorder after its sources."""
        last = ("bag_recorder", "run_monitor")
        groups: tuple[list[str], ...] = (
            [self._controller],
            [name for name in self._processes if name not in (self._controller, *last)],
            [name for name in self._processes if name in last],
        )
        for names in groups:
            end_processes(self._processes[name] for name in names if name in self._processes)
        for process in self._processes.values():
            process.close()
