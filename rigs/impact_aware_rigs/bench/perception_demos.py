"""Whole demos over DDS whose object is where only its poses say: displaced, turned, and every second one on a belt."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from tqdm import tqdm

from impact_aware.arrays import Array
from impact_aware_rigs.bench.starts import LONGEST, TASKS, demo_command, why_failed

PLACE = (0.03, 0.02)
"""Along the table the object is displaced by up to this much, m; the goal is not, which stays the task's."""

SPEEDS = (0.03, 0.1)
"""Of belts, m/s."""

HIT = 0.9
"""Of a demo, about, after its first state, s: by then a belt has carried the object to its place."""


def run_demos(count: int, seed: int, yaw: float, plant: str, tasks: Sequence[str] = TASKS) -> dict[str, Any]:
    """So many demos of each task with an object at rest, and as many on a belt; what came of them.

    Args:
        count: Of each task and kind.
        seed: Of places and turns.
        yaw: Largest turn, deg.
        plant: Joints of the true arms.
        tasks: Demos, in turn.
    """
    generator, rows = np.random.default_rng([seed, 77]), []
    plan = [(task, moves) for task in tasks for moves in (False, True)] * count
    for task, moves in tqdm(plan, desc="demos", disable=not sys.stderr.isatty()):
        place, turn = generator.uniform(-1.0, 1.0, 2) * PLACE, generator.uniform(-yaw, yaw)
        speed, heading = generator.uniform(*SPEEDS) * moves, generator.uniform(-np.pi, np.pi)
        belt = speed * np.array([np.cos(heading), np.sin(heading)])
        row = {"task": task, "moves": moves, "turn_deg": round(turn, 1), "belt": np.round(belt, 4).tolist()}
        rows.append(row | _demo(task, place - HIT * belt, turn, belt, plant))
    failed = {row["task"] + ": " + row["reason"] for row in rows if row["reason"]}
    errors = [row["prediction_error"] for row in rows if row["prediction_error"] is not None]
    return {
        "demos": len(rows),
        "success_still": _success(rows, moves=False),
        "success_moving": _success(rows, moves=True),
        "prediction_error": float(np.median(errors)) if errors else None,
        "failed": sorted(failed),
        "rows": rows,
    }


def _success(rows: list[dict[str, Any]], *, moves: bool) -> float:
    reasons = [row["reason"] for row in rows if row["moves"] == moves]
    return reasons.count("") / len(reasons)


def _demo(task: str, place: Array, turn: float, belt: Array, plant: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="impact_aware_") as folder:
        where = ["--displacement", *(f"{length:.4f}" for length in (*place, 0.0)), "--turn", f"{turn:.2f}"]
        moved = ["--belt", *(f"{speed:.4f}" for speed in belt)] if belt.any() else []
        command = demo_command(task, f"{folder}/run", "--plant", plant, *where, *moved)
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return {"reason": f"not ended within {LONGEST:g} s", "goal_error_m": None, "prediction_error": None}
    lines = result.stdout.strip().splitlines()
    summary = json.loads(lines[-1]) if lines else {}
    return {
        "reason": why_failed(result),
        "goal_error_m": summary.get("goal_error_m"),
        "prediction_error": summary.get("prediction_error_relative"),
    }
