"""Whole demos over DDS whose object stands where only its poses say: displaced, and turned."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
from tqdm import tqdm

from impact_aware.rigs.bench.starts import LONGEST, TASKS, demo_command, why_failed

PLACE = (0.03, 0.02)
"""Along the table the object is displaced by up to this much, m; the goal is not, which stays the task's."""


def run_demos(count: int, seed: int, yaw: float, plant: str) -> dict[str, Any]:
    """So many demos of each task; what came of them.

    Args:
        count: Of each task.
        seed: Of places and turns.
        yaw: Largest turn, deg.
        plant: Joints of the true arms.
    """
    generator, rows = np.random.default_rng([seed, 77]), []
    for task in tqdm(TASKS * count, desc="demos", disable=not sys.stderr.isatty()):
        x, y = generator.uniform(-1.0, 1.0, 2) * PLACE
        turn = generator.uniform(-yaw, yaw)
        rows.append({"task": task, "turn_deg": round(turn, 1)} | _demo(task, (x, y, 0.0), turn, plant))
    failed = {row["task"] + ": " + row["reason"] for row in rows if row["reason"]}
    errors = [row["prediction_error"] for row in rows if row["prediction_error"] is not None]
    return {
        "demos": len(rows),
        "success": sum(not row["reason"] for row in rows) / len(rows),
        "prediction_error": float(np.median(errors)) if errors else None,
        "failed": sorted(failed),
        "rows": rows,
    }


def _demo(task: str, displacement: tuple[float, float, float], turn: float, plant: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="impact_aware_") as folder:
        place = ["--displacement", *(f"{length:.4f}" for length in displacement), "--turn", f"{turn:.2f}"]
        command = demo_command(task, f"{folder}/run", "--plant", plant, *place)
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
