"""Hit-and-push of the whole graph on a simulated Franka, in lockstep: goal, packets, impact time, `analyze`."""

from __future__ import annotations

import argparse
import select
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from impact_aware.cli.output import progress
from impact_aware.control.command import Mode
from impact_aware.control.local_law import LocalLaw
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.experiments.episode_settings import Camera
from impact_aware.franka.channel import FOLLOWING, Channel
from impact_aware.franka.driver import DriverSettings
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.parameters import Options, described
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.resources import read_named
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field
from impact_aware.task.arms import robots_of_task
from impact_aware_rigs.franka.arm import ArmStatus, missing_packages
from impact_aware_rigs.franka.world import CHANGES, ROBOT, TASK

NEAR = 0.005
"""Analyzed impacts within this time of the first contact are of the hit, s."""

LAW_EVERY, SETTLED = 4, 200
"""States per law, and first states in which a law is applied that are not counted."""

DURATION, REST = 6.0, 0.3
"""Longest duration of a push, and the object's rest after it, s."""

PATIENCE = 300.0
"""For all states with laws, s of wall time."""


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """How many runs, and which of them."""

    runs: int = described(20, "runs, each in a world of its own", 1, 1000)
    first: int = described(0, "number of the first run", 0, 10**6)
    laws: int = described(5000, "states in which the driver applies a law, for its processor time", 100, 10**6)
    blind: bool = described(False, "no camera sees the object after the impact")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run the pushes, and `analyze` on the bag of each.

    Raises:
        InvalidInputError: The arm's packages are not installed.
    """
    if missing := missing_packages():
        raise InvalidInputError("environment", missing, "both packages")
    numbers = progress(iterable=range(args.first, args.first + args.runs), desc="runs", unit="run")
    rows = [push(number, None if args.blind else Camera()) for number in numbers]
    return summary(rows) | {"law": law_times(args.laws), "runs": rows}


def push(number: int, camera: Camera | None) -> dict[str, Any]:
    """One run, in the world of its number, and what `analyze` makes of its bag."""
    from impact_aware_rigs.franka.graph import FrankaGraph

    with tempfile.TemporaryDirectory() as name:
        bag = Path(name) / "bag"
        with FrankaGraph(number, bag, camera) as graph:
            ended = graph.until(lambda: graph.link.mode is Mode.HOLD or bool(graph.reason()), DURATION)
            end = graph.arm.time + REST
            graph.until(lambda: graph.arm.time >= end)
            stop, status = graph.reason() if ended else f"no end within {DURATION:g} s", graph.arm.status()
            impacts = [stamp_seconds(event) for event in graph.link.impacts]
        done = not stop and bool(impacts and status.contact_times)
        goal = np.hypot(*np.subtract(status.object_pose[:2], load_task(TASK, CHANGES).goal[:2]))
        row = {"number": number, "done": done, "stop": stop, "goal_error_mm": 1e3 * float(goal)}
        row |= {"states": status.states_sent, "lost": status.states_lost, "superseded": status.states_ahead}
        if done:
            row["impact_error_ms"] = 1e3 * (impacts[0] - status.contact_times[0])
            row |= analysis(bag, status)
        return row


def law_times(states: int) -> dict[str, Any]:
    """Processor times per state in which the driver applies a law: until its torque is there, and until it is sent, us.

    The driver is the process that `franka_fci_relay` starts; a law that holds the arm comes for every fourth state.
    """
    from impact_aware_rigs.franka import SimulatedFranka

    robot, channel, spent, sequence = RobotModel.from_profile("fr3"), Channel(), list[tuple[float, float]](), 0
    none, square = np.zeros(robot.n), np.zeros((robot.n, robot.n))
    with SimulatedFranka(task="") as arm:
        settings = DriverSettings(arm.address, "fr3", control=True, realtime="ignore", arm_time=True)
        process = settings.start(channel)
        limit = time.monotonic() + PATIENCE
        try:
            while len(spent) < states + SETTLED and time.monotonic() < limit and process.poll() is None:
                select.select([channel.fds[1]], [], [], 0.05)
                channel.drain()
                for state in channel.take_states():
                    if state["phase"] == FOLLOWING:
                        spent.append((float(state["law_time"]), float(state["sent_time"])))
                    if len(spent) % LAW_EVERY == 0:
                        sequence, q = sequence + 1, state["q"].copy()
                        arrays = robot.gravity(q), none, square, 2.0 * np.eye(robot.n), q, none
                        stamp = float(state["stamp"])
                        channel.put_law(LocalLaw(robot.joint_names, *arrays, stamp, 0.03, sequence, Mode.HOLD))
        finally:
            process.kill()
            process.wait()
    if len(spent) < states + SETTLED:
        raise ImpactAwareError(f"only {len(spent)} states were answered by laws within {PATIENCE:g} s")
    p50, p99 = (1e6 * np.percentile(spent[SETTLED:], [50, 99], axis=0)).tolist()
    applied, sent = ({"p50": low, "p99": high} for low, high in zip(p50, p99, strict=True))
    return {"states": states, "applied_us": applied, "sent_us": sent}


def analysis(bag: Path, status: ArmStatus) -> dict[str, float]:
    """Time of the impact that `analyze` finds nearest to the contact, and its prediction with two inertias.

    `prediction_error` is a share of the joint velocities' jump: with the profile's apparent motor inertia, and, as
    `prediction_error_known`, with that of the simulated joints.
    """
    contact, task = status.contact_times[0], load_task(TASK, CHANGES)
    x, y, z = make_field(task, robots_of_task(task)).arms[0].normal.tolist()
    result: dict[str, float] = {}
    for key, robot in (("", ROBOT), ("_known", str(_with_armature(bag.parent, status.armature)))):
        options = AnalysisOptions(
            robot=robot, topics=("/joint_states",), normal=(x, y, z), friction=task.object.friction_tool,
            object_mass=task.object.mass,
        )  # fmt: skip
        impacts = [own for arm in analyze([bag], options).arms for own in arm.impacts]
        near = [own for own in impacts if abs(own.event.time - contact) < NEAR]
        result[f"impacts{key}"] = len(impacts)
        if not near:
            continue
        own = min(near, key=lambda own: abs(own.event.time - contact))
        result[f"analyzed_error_ms{key}"] = 1e3 * (own.event.time - contact)
        if own.estimate is not None and own.prediction is not None:
            after = own.estimate.velocity_after
            jump = after - own.estimate.velocity_before
            error = own.prediction.velocity_after - after
            result[f"prediction_error{key}"] = float(np.linalg.norm(error) / np.linalg.norm(jump))
    return result


def _with_armature(folder: Path, armature: tuple[float, ...]) -> Path:
    """The profile's file with another apparent motor inertia, kg m^2."""
    content, source = read_named("robot", "robots", ROBOT)
    content |= {"urdf": str(source.resolve().parent / content["urdf"]), "apparent_motor_inertia": list(armature)}
    content["apparent_motor_inertia_std"] = 0.0
    path = folder / "fr3_known.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts, medians and largest values over the runs."""

    def of(key: str) -> dict[str, float]:
        values = np.array([abs(row[key]) for row in rows if key in row and np.isfinite(row[key])])
        return {"median": float(np.median(values)), "largest": float(values.max())} if values.size else {}

    done = [row for row in rows if row["done"]]
    return {
        "count": len(rows),
        "done": len(done),
        "within_20_mm": sum(row["goal_error_mm"] <= 20.0 for row in done),
        "states": sum(row["states"] for row in rows),
        "lost": sum(row["lost"] for row in rows),
        "superseded": sum(row["superseded"] for row in rows),
        "goal_error_mm": of("goal_error_mm"),
        "detected_impact_error_ms": of("impact_error_ms"),
        "analyzed_impact_error_ms": of("analyzed_error_ms"),
        "prediction_error": of("prediction_error"),
        "prediction_error_known_armature": of("prediction_error_known"),
    }
