"""`impact-aware demo`: the real node graph as processes over DDS, the simulator as plant; it ends by itself.

The demo starts the nodes, watches them, ends them when the task is done, and then reads the bag they left to make the
table, the figure and `summary.json`. When any node dies it brings the arm to the safe mode first.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from impact_aware.bringup.domain import add_domain, own_domain
from impact_aware.bringup.graph import DualArmOptions, SingleArmOptions, dual_arm_graph, single_arm_graph
from impact_aware.bringup.middleware import check_ros
from impact_aware.bringup.node_spec import ALL, NONE, ONLY_WATCHERS, SHARING, NodeSpec
from impact_aware.bringup.urgency import (
    FEWER,
    IN_THE_LOOP,
    URGENCY,
    add_priority,
    chosen_priority,
    leaves_room,
    simulated_period,
    urgent,
)
from impact_aware.cli.demo_run import Demo, DemoFailedError
from impact_aware.cli.numbers import real
from impact_aware.errors import InvalidInputError
from impact_aware.json_text import json_text
from impact_aware.output_folder import OutputFolder
from impact_aware.recordings.bag import BagError
from impact_aware.report.run_report import RunReport, report_run
from impact_aware.robot.profile import PLANTS, SIMULATED_INTERFACES
from impact_aware.screen import check_screen
from impact_aware.simulation.joint_elasticity import TORQUE_RATE
from impact_aware.task import load_task, make_field
from impact_aware.task.arms import arms_of_task

TASKS = {
    "hit-and-push": "hit_and_push_palm",
    "hit-and-push-ball": "hit_and_push",
    "hit-and-push-can": "hit_and_push_can",
    "hit-and-push-wedge": "hit_and_push_wedge",
    "dual-arm-grab": "dual_arm_grab",
}
"""The task file of each."""

RATES = (100.0, 2000.0)
"""Lowest and highest rate of the simulated arms, Hz."""

LACKING = 0.3
"""Simulated time, s, by which a recording may end before the plant as that last told of itself."""


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
        "--rate",
        type=float,
        metavar="HZ",
        help=f"states and torques of each arm in a second (default: 1000; {FEWER:g} for two arms with --free-running "
        "where there are not more processors than arms)",
    )
    parser.add_argument(
        "--single-process",
        nargs="?",
        choices=SHARING,
        const=ALL,
        help="the suite's nodes in one process beside simulator and recorder, or only those that watch, beside the "
        "controller (default: watchers where processors are few, else none)",
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
    parser.add_argument(
        "--belt",
        type=float,
        nargs=2,
        metavar=("VX", "VY"),
        default=(0.0, 0.0),
        help="velocity with which a belt carries it from the first state on until a tool meets it, m/s",
    )
    parser.add_argument("--watch", action="store_true", help="show the scene in a window while it runs")
    parser.add_argument("--seed", type=int, default=0, help="seed of the plant's sensor noise (default: %(default)s)")
    parser.add_argument(
        "--timeout", type=real(1.0, 1e6), default=150.0, help="longest motion, s of wall time (default: %(default)s)"
    )
    parser.add_argument(
        "--start-order", type=int, metavar="SEED", help="start the nodes in a random order, the same for the same seed"
    )
    add_priority(
        parser,
        "simulator, controller and detectors",
        f"default: with --free-running {URGENCY} where the user may and processors suffice for their number, else 0",
    )
    add_domain(parser)


def run(args: argparse.Namespace) -> int:
    """Run the demo, print the table or the JSON, and return the exit status."""
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
            demo = Demo(graph, folder, domain, quiet=quiet, sharing=_sharing(args), order=args.start_order)
            demo.run(args.timeout)
            report = _report(demo, folder, out, round(time.monotonic() - started, 2))
    except DemoFailedError as error:
        print(f"impact-aware demo: error: {error}", file=sys.stderr)
        if output.kept is not None:
            print(f"impact-aware demo: the logs are in {output.kept / 'logs'}", file=sys.stderr)
        return 1
    _print(report, as_json=args.json)
    if failure := _failure(report, demo.plant):
        print(f"impact-aware demo: error: {failure}", file=sys.stderr)
        return 1
    return 0


def _explained(error: BagError, plant: dict[str, Any]) -> str:
    """What a recording lacks did either not happen, or was not recorded: the plant knows."""
    impacts, states = int(plant.get("impacts", 0)), int(plant.get("states", 0))
    if impacts:
        return f"the recording lacks what happened, {impacts} impacts in {states} states of the plant: {error}"
    return f"the plant counts no impact in {states} states: {error}"


def _failure(report: RunReport, plant: dict[str, Any]) -> str:
    """What kept the task from being done by the recording, and what that lacks of the plant's time; empty if none."""
    failure = report.failure()
    lacking = float(plant.get("time", 0.0)) - report.summary["recorded_until"]
    if failure and lacking > LACKING:
        return f"the recording lacks the last {lacking:.1f} s, and by what it has {failure}"
    return failure


def _report(demo: Demo, folder: Path, out: Path, seconds: float) -> RunReport:
    """The report of a run, written beside its bag in `folder`; it speaks of the folder where both will be, `out`."""
    try:
        report = report_run(folder / "bag", folder, demo.node_names)
    except BagError as error:
        raise DemoFailedError(_explained(error, demo.plant)) from error
    report.summary.update(
        realtime_priority=demo.priority,
        **demo.pace,
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
        "belt": _finite("--belt", args.belt),
        "period": _period(args),
    }
    options["task"] = args.task_file or TASKS[args.task]
    # In lockstep the plant waits for everybody, so nobody has to be quicker than the others.
    hurry = args.free_running and leaves_room(_arms(args), together=_sharing(args) != NONE)
    priority = chosen_priority(args.priority) if hurry or args.priority is not None else 0
    if args.task != "dual-arm-grab":
        _check_reach(options["task"], args.robot or "panda")
        graph = single_arm_graph(SingleArmOptions(robot=args.robot or "panda", **options))
    elif args.robot is not None:
        raise InvalidInputError("--robot", args.robot, f"none with {args.task}: its task file names both robots")
    else:
        graph = dual_arm_graph(DualArmOptions(**options))
    return urgent(graph, priority, IN_THE_LOOP)


def _sharing(args: argparse.Namespace) -> str:
    """Which nodes share a process: where processors are few, those that watch cost the loop too much one by one.

    In lockstep two processors are few even for one arm: the nodes start sooner together, and the plant waits for each.
    """
    if args.single_process is not None:
        return str(args.single_process)
    return NONE if leaves_room(_arms(args) if args.free_running else 2) else ONLY_WATCHERS


def _period(args: argparse.Namespace) -> float | None:
    """Time between two states, s; None for the scene's.

    Raises:
        InvalidInputError: A rate at which these arms can't be simulated.
    """
    if args.rate is None:
        return simulated_period(_arms(args), wall_time=args.free_running)
    (lowest, highest), rate = RATES, float(args.rate)
    if not lowest <= rate <= highest:
        raise InvalidInputError("--rate", rate, f"{lowest:g} to {highest:g} Hz")
    if args.plant == "flexible" and TORQUE_RATE % rate:
        expected = f"a whole fraction of the {TORQUE_RATE:g} Hz of the joints' torque loop, such as 500"
        raise InvalidInputError("--rate", rate, expected)
    return 1.0 / rate


def _arms(args: argparse.Namespace) -> int:
    return 2 if args.task == "dual-arm-grab" else 1


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
    if "real_time_factor" in report.summary:
        factor, unanswered = report.summary["real_time_factor"], report.summary["cycles_unanswered"]
        print(f"simulated time            {factor:.2f} of wall time, {unanswered:.0f} cycles without a new torque")
    print(f"figure   {report.summary['figure']}")
    print(f"bag      {report.summary['bag']}")
    print(f"summary  {report.folder / 'summary.json'}")
    analysis = report.folder.with_name(f"{report.folder.name}-analysis")
    print(f"\nlook further: impact-aware analyze {report.summary['bag']} --out {analysis}")
