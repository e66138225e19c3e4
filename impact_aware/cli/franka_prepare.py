"""`impact-aware franka-prepare`: what a task's hit would trip on a Franka, and the arm set up for it by libfranka."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import Any

from impact_aware.cli.output import row, show
from impact_aware.control.safety.reflexes import PAD_STIFFNESS
from impact_aware.errors import InvalidInputError
from impact_aware.franka.connection import REALTIME
from impact_aware.franka.prepare import JOINT_IMPEDANCE, Preparation, preparation, prepare
from impact_aware.parameters import Options, described
from impact_aware.ranges import Range


@dataclass(frozen=True, kw_only=True)
class PrepareOptions(Options):
    """What the arm is prepared for."""

    task: str = described("hit_and_push", "task whose hit is predicted", metavar="NAME_OR_FILE")
    robot: str = described("fr3", "robot profile of a single arm", metavar="NAME_OR_FILE")
    arm: str = described("", "which of the task's arms", metavar="NAME")
    address: str = described("", "set it on the arm at this name or IP address; else only predict", metavar="ADDRESS")
    stiffness: float = described(PAD_STIFFNESS, "of tool and object in series, N/m", within=Range(100.0, 1e8))
    realtime: str = described("ignore", "whether libfranka refuses a kernel without real time", choices=REALTIME)


OPTIONS = (PrepareOptions,)


def run(args: argparse.Namespace) -> int:
    """Predict, refuse what would trip, and set the arm up."""
    made = preparation(args.task, args.robot, args.arm, args.stiffness)
    worst = made.load.trips[0]
    fits = worst.share <= 1.0
    report = prepare(made, args.address, args.realtime) if args.address and fits else {}
    torque, force = made.load.thresholds
    result = {
        "task": args.task,
        "impact_speed": made.impact.normal_speed,
        "allowed_speed": made.speed,
        "peak_force": made.load.force,
        "contact_duration": made.load.duration,
        "torque_thresholds": torque,
        "force_thresholds": force,
        "joint_impedance": list(JOINT_IMPEDANCE),
        "load_mass": made.mass,
        "load_center": made.center,
        "trips": [asdict(trip) for trip in made.load.trips],
        "arm": report,
    }
    show(args, result, lambda: format_preparation(made, result))
    if not fits:
        expected = f"at most {worst.limit:.3g} {worst.unit} ({worst.name}), that is a hit at {made.speed:.3g} m/s"
        does = f"{made.impact.normal_speed:.3g} m/s, where {worst.where} would get {worst.value:.3g} {worst.unit}"
        raise InvalidInputError("impact_velocity", does, expected)
    return 0


def format_preparation(made: Preparation, result: dict[str, Any]) -> str:
    """The table for people."""
    lines = [
        f"hit at {made.impact.normal_speed:.3g} m/s: {made.load.force:.0f} N for {1e3 * made.load.duration:.0f} ms; "
        f"no reflex up to {made.speed:.3g} m/s",
        f"{'reflex':<26}{'where':<16}{'predicted':>12}{'stops at':>12}   share",
    ]
    for trip in made.load.trips:
        value, limit = f"{trip.value:.3g} {trip.unit}", f"{trip.limit:.3g} {trip.unit}"
        lines.append(f"{trip.name:<26}{trip.where:<16}{value:>12}{limit:>12}{100 * trip.share:>6.0f} %")
    lines += [
        f"load             {made.mass:.3g} kg at {row(made.center)} m of the flange, beside the end effector in Desk",
        f"thresholds       {row(result['torque_thresholds'])} N m; {result['force_thresholds'][0]:.0f} N",
        f"joint impedance  {row(result['joint_impedance'])} N m/rad",
    ]
    if result["arm"]:
        own = result["arm"]
        lines += [
            f"read back        {own['load_mass']:.3g} kg at {row(own['load_center'])} m, mode {own['robot_mode']}",
            "not read back    thresholds and impedance, which libfranka does not report",
        ]
    return "\n".join(lines)
