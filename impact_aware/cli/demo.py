"""`impact-aware demo`: the real node graph as processes over DDS, the simulator as plant; it ends by itself.

The demo starts the nodes, watches them, ends them when the task is done, and then reads the bag they left to make the
table, the figure and `summary.json`. When any node dies it brings the arm to the safe mode first.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import shlex
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from impact_aware.bags.bag import Bag, BagError
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
from impact_aware.cli.options import MOST, add_options
from impact_aware.cli.output import show
from impact_aware.contact.options import Vector
from impact_aware.errors import InvalidInputError
from impact_aware.output_folder import OutputFolder
from impact_aware.parameters import Options, described
from impact_aware.ranges import Range
from impact_aware.render import read_scene
from impact_aware.render.rerun_file import rerun_library, write_rerun
from impact_aware.report.run_report import RunReport, report_run
from impact_aware.robot.profile import PLANTS, SIMULATED_INTERFACES
from impact_aware.screen import check_screen
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

MOVIE, RERUN = "impact.gif", "impact.rrd"

LACKING = 0.3
"""Simulated time, s, by which a recording may end before the last reported time of the plant."""


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Options):
    """The task, the plant and how the nodes run."""

    task: str = described(..., "task", choices=tuple(TASKS), positional=True)
    robot: str | None = described(
        None, "profile of a single arm, by name or file", metavar="NAME_OR_FILE", absent="panda"
    )
    task_file: str | None = described(
        None, "a task for as many arms, by name or file", metavar="NAME_OR_FILE", absent="the one of TASK"
    )
    plant: str = described(
        PLANTS[0], "joints with elasticity, motors, friction and torque loop, or rigid ones", choices=PLANTS
    )
    command_interface: str = described(
        SIMULATED_INTERFACES[0], "commands of the arms: a torque for every state, or laws between two",
        choices=SIMULATED_INTERFACES,
    )  # fmt: skip
    free_running: bool = described(False, "keep wall time instead of lockstep")
    rate: float | None = described(
        None, "states and torques of each arm per second", within=Range(100.0, 2000.0, "Hz"),
        absent=f"1000; {FEWER:g} for two arms with --free-running where there are not more processors than arms",
    )  # fmt: skip
    displacement: Vector = described(
        (0.0, 0.0, 0.0), "true position of the object relative to the task's, which only its poses show",
        within=Range(-10.0, 10.0, "m"),
    )  # fmt: skip
    turn: float = described(0.0, "its rotation from there about the vertical", within=Range(-180.0, 180.0, "deg"))
    belt: tuple[float, float] = described(
        (0.0, 0.0), "velocity of a belt that carries it until a tool meets it", within=Range(-1.0, 1.0, "m/s")
    )
    watch: bool = described(False, "show the scene in a window while it runs")
    gif: bool = described(False, "also write impact.gif, the impact in slow motion")
    rerun: bool = described(False, "also write impact.rrd, the impact in slow motion for Rerun")
    seed: int = described(0, "seed of the plant's sensor noise", 0, MOST)
    timeout: float = described(150.0, "longest motion in wall time", within=Range(1.0, 1e6, "s"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_options(parser, DemoOptions)
    parser.add_argument(
        "--single-process",
        nargs="?",
        choices=SHARING,
        const=ALL,
        help="the suite's nodes in one process beside simulator and recorder, or only those that watch, beside the "
        "controller; default: watchers where processors are few, else none",
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
    if args.rerun:
        rerun_library("--rerun")
    graph = _graph(args)
    check_ros()
    importlib.import_module("impact_aware.simulation")  # MuJoCo may be missing where ROS is
    out = args.out or Path("results") / args.task
    output = OutputFolder(out, "demo", aside=True)
    started = time.monotonic()
    try:
        with own_domain(args.domain, alone=True) as domain, output as folder:
            (folder / "logs").mkdir()
            demo = Demo(graph, folder, domain, sharing=_sharing(args))
            demo.run(args.timeout)
            report = _report(demo, folder, out, round(time.monotonic() - started, 2))
            _draw(folder, gif=args.gif, rerun=args.rerun)
    except DemoFailedError as error:
        print(f"impact-aware demo: error: {error}", file=sys.stderr)
        if output.kept is not None:
            print(f"impact-aware demo: the logs are in {output.kept / 'logs'}", file=sys.stderr)
        return 1
    show(args, report.summary, lambda: _text(report, gif=args.gif, rerun=args.rerun))
    if output.moved is not None:
        print(f"impact-aware demo: note: earlier results are in {out.with_name(output.moved.name)}", file=sys.stderr)
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
        "displacement": tuple(args.displacement),
        "turn": math.radians(args.turn),
        "belt": tuple(args.belt),
        "period": _period(args),
    }
    options["task"] = args.task_file or TASKS[args.task]
    # In lockstep the plant waits for all nodes, so none needs a higher priority.
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
    from impact_aware.simulation.joint_elasticity import TORQUE_RATE

    if args.plant == "flexible" and TORQUE_RATE % args.rate:
        expected = f"a whole fraction of the {TORQUE_RATE:g} Hz of the joints' torque loop, such as 500"
        raise InvalidInputError("--rate", args.rate, expected)
    return 1.0 / args.rate


def _arms(args: argparse.Namespace) -> int:
    return 2 if args.task == "dual-arm-grab" else 1


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
        mend = f"impact-aware plan {name} plans it" if task.result else "a task for this arm goes to --task-file"
        wanted = f"an arm that can do task {task.name}: {error}; {mend}"
        raise InvalidInputError("robot", robot, wanted) from error


def next_command(bag: str, analysis: Path) -> str:
    """What to type next, as a shell takes it: make's own PATH is not that of its user."""
    program = os.path.relpath(sys.argv[0]) if "MAKELEVEL" in os.environ else "impact-aware"
    return shlex.join([program, "analyze", bag, "--out", str(analysis)])


def _draw(folder: Path, *, gif: bool, rerun: bool) -> None:
    """Write the impact in slow motion beside the bag in a folder."""
    if gif or rerun:
        from impact_aware.render.movie import draw_movie

        with Bag(folder / "bag") as bag:
            scene = read_scene(bag)
            if gif:
                draw_movie(bag, folder / MOVIE, scene)
            if rerun:
                write_rerun(bag, folder / RERUN, scene)


def _text(report: RunReport, *, gif: bool, rerun: bool) -> str:
    lines = [report.table()]
    if "real_time_factor" in report.summary:
        factor, unanswered = report.summary["real_time_factor"], report.summary["cycles_unanswered"]
        simulated = f"{factor:.2f} of wall time, {unanswered:.0f} cycles without a new torque"
        lines.append(f"simulated time            {simulated}")
    analysis = report.folder.with_name(f"{report.folder.name}-analysis")
    lines += [
        f"figure   {report.summary['figure']}",
        f"bag      {report.summary['bag']}",
        f"summary  {report.folder / 'summary.json'}",
        *([f"movie    {report.folder / MOVIE}"] if gif else []),
        *([f"for Rerun: {shlex.join(['rerun', str(report.folder / RERUN)])}"] if rerun else []),
        f"\nlook further: {next_command(report.summary['bag'], analysis)}",
    ]
    return "\n".join(lines)
