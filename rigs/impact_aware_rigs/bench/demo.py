"""Demos of several seeds: `analyze` of the bag, and of its joints alone as CSV, beside the demo's own figure."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.bags.bag import Bag
from impact_aware.cli.output import progress
from impact_aware.errors import ImpactAwareError
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.parameters import Options, described
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions

DEMO, TASK, ROBOT = "hit-and-push", "hit_and_push_palm", "panda"

NEAR = 0.005
"""Time from the plant's first contact within which a found impact is that one, s."""


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """Demos that are run and analysed."""

    seeds: int = described(5, "demos, each of its own seed", 1, 1000)
    seed: int = described(0, "seed of the first demo; the others follow", 0, 10**6)
    keep: Path | None = described(None, "folder in which the demos' results stay", metavar="FOLDER")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run and analyse each demo; see `compared` for the figures of one.

    Raises:
        ImpactAwareError: A demo failed.
    """
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        seeds = range(args.seed, args.seed + args.seeds)
        for seed in progress(iterable=seeds, desc="demos", unit="run"):
            folder = (args.keep or Path(temporary)) / f"demo-{seed}"
            rows[str(seed)] = compared(run_demo(seed, folder), folder)
    agreeing = {kind: sum(row[kind]["agrees"] for row in rows.values()) for kind in ("bag", "csv")}
    return {"demos": len(rows), "agreeing": agreeing, "seeds": rows}


def compared(summary: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Headlines of the bag and of its joints as CSV beside the demo's figure, all as a share of the plant's jump.

    Args:
        summary: Content of the demo's `summary.json`.
        folder: With the demo's `bag`; the table is written into it.
    """
    bag, table = folder / "bag", folder / "joints.csv"
    write_joints(bag, table)
    impact, own = summary["impact"], summary["prediction_error_relative"]
    jump = np.subtract(impact["velocity_after_plant"], impact["velocity_before"])
    row: dict[str, Any] = {"demo": own}
    for kind, path, options in (
        ("bag", bag, AnalysisOptions(ablation=False)),
        ("csv", table, AnalysisOptions(robot=ROBOT, task=TASK, ablation=False)),
    ):
        row[kind] = headline(path, options, impact["time_true"], float(np.linalg.norm(jump)), own)
    return row


def headline(path: Path, options: AnalysisOptions, time: float, jump: float, own: float) -> dict[str, Any]:
    """Verdict of the impact at a time, s: error and interval as shares of the jump, rad/s.

    `agrees` is whether the demo's figure `own` lies in the interval.
    """
    impacts = analyze([path], options).impacts
    found = next((impact.verdict for impact in impacts if abs(impact.time - time) <= NEAR), None)
    if found is None or found.interval is None:
        return {"impacts": len(impacts), "agrees": False}
    low, high = (edge / jump for edge in found.interval)
    return {
        "impacts": len(impacts),
        "agrees": low <= own <= high,
        "error": None if found.error is None else found.error / jump,
        "interval": [low, high],
        "within": found.within,
    }


def write_joints(bag_path: Path, path: Path) -> None:
    """Write a bag's joint states alone as CSV: stamps, s, and each joint's recorded quantities."""
    with Bag(bag_path) as bag:
        states = [message for _, message in bag.messages("joint_states")]
    names, columns = ["time"], [np.array([[stamp_seconds(state)] for state in states])]
    for prefix, quantity in (("q", "position"), ("dq", "velocity"), ("tau", "effort")):
        values = np.array([getattr(state, quantity) for state in states])
        names += [f"{prefix}_{name}" for name in states[0].name[: values.shape[1]]]
        columns.append(values)
    np.savetxt(path, np.hstack(columns), delimiter=",", header=",".join(names), comments="", fmt="%.9g")


def run_demo(seed: int, folder: Path) -> dict[str, Any]:
    """Summary of one demo, which leaves its results in a folder.

    Raises:
        ImpactAwareError: It failed; the message has its error.
    """
    command = [sys.executable, "-m", "impact_aware.cli.main", "demo", DEMO, "--seed", str(seed), "--json"]
    done = subprocess.run([*command, "--out", str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no output"]
        error = next((line for line in lines if "error:" in line), lines[-1])
        raise ImpactAwareError(f"the demo of seed {seed} failed: {error}")
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary
