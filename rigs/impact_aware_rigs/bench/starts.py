"""Does a demo start and reach its goal every time: cold, beside busy processes, its nodes in any order?

Whole demos as a user starts them, of one arm and of two in turn. A cold one finds neither bytecode nor compiled
kernels, for it is given empty folders in place of the caches, and nothing of it in the system's file cache where that
may be dropped (by root).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from impact_aware.errors import InvalidInputError

TASKS = ("hit-and-push", "dual-arm-grab")

LONGEST = 900.0
"""Wall time after which a demo that has not ended counts as failed, s: it has shorter limits of its own."""

_SPIN = [sys.executable, "-c", "while True: pass"]

_DROP_CACHES = Path("/proc/sys/vm/drop_caches")


@dataclass(frozen=True)
class Start:
    """One demo.

    Attributes:
        task: Of `impact-aware demo`.
        busy: Processes beside it that keep one core busy each.
        cold: Without caches.
        order: Seed of the order in which its nodes start; None for the usual one.
    """

    task: str
    busy: int
    cold: bool
    order: int | None

    @property
    def text(self) -> str:
        """In words."""
        order = "" if self.order is None else f", order {self.order}"
        return f"{self.task}, {'cold' if self.cold else 'warm'}, {self.busy} busy{order}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how many."""
    parser.add_argument("--runs", type=int, default=30, help="demos (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the nodes' orders (default %(default)s)")
    parser.add_argument("--free-running", action="store_true", help="keep wall time instead of lockstep")
    parser.add_argument("--single-process", action="store_true", help="all nodes of a graph in one process")
    parser.add_argument("--task", choices=TASKS, help="only this one (default: in turn)")
    parser.add_argument("--busy", type=int, choices=(0, 1, 2), help="always so many busy processes (default: in turn)")
    parser.add_argument("--warm", action="store_true", help="with caches always (default: every third without)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Start them one after the other.

    Returns:
        `runs`, `failed`, `reasons` with their counts, `seconds` of wall time (p50, max), `states_lost` (p50, max), with
        --free-running `real_time_factor` (p50, min), `false_detections`, and each run's `rows`.

    Raises:
        InvalidInputError: No run.
    """
    if args.runs < 1:
        raise InvalidInputError("--runs", args.runs, "a number >= 1")
    options = ["--free-running"] * args.free_running + ["--single-process"] * args.single_process
    rows: list[dict[str, Any]] = []
    quiet = args.json or not sys.stderr.isatty()
    # What is done is not lost with what an interrupt leaves undone.
    with contextlib.suppress(KeyboardInterrupt), tqdm(planned(args), unit="demo", disable=quiet) as bar:
        for start in bar:
            bar.set_description(start.text)
            rows.append(measured(start, options))
    if not rows:
        raise InvalidInputError("bench starts", "an interrupt", "the end of one demo")
    return summary(rows)


def planned(args: argparse.Namespace) -> list[Start]:
    """The runs: tasks in turn; after both, another number of busy processes; a third cold; half in order."""
    starts = []
    for number in range(args.runs):
        pair = number // 2
        starts.append(
            Start(
                task=args.task or TASKS[number % 2],
                busy=pair % 3 if args.busy is None else args.busy,
                cold=not args.warm and (pair // 3 + pair) % 3 == 1,
                order=args.seed + number if (number + pair) % 2 else None,
            )
        )
    return starts


def measured(start: Start, options: list[str]) -> dict[str, Any]:
    """One demo in its circumstances: its time, why it failed, and what its summary says of states and the goal."""
    order = [] if start.order is None else ["--start-order", str(start.order)]
    with tempfile.TemporaryDirectory(prefix="impact_aware_") as folder, contextlib.ExitStack() as stack:
        for _ in range(start.busy):
            stack.enter_context(busy_process())
        command = demo_command(start.task, f"{folder}/run", *options, *order)
        environment = dict(os.environ)
        if start.cold:
            environment |= {"PYTHONPYCACHEPREFIX": f"{folder}/bytecode", "NUMBA_CACHE_DIR": f"{folder}/kernels"}
            _drop_caches()
        begin = time.monotonic()
        try:
            result = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=LONGEST, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            return _row(start, begin, f"not ended within {LONGEST:g} s", {})
        lines = result.stdout.strip().splitlines()
        summary_of_run = json.loads(lines[-1]) if lines else {}
        return _row(start, begin, why_failed(result), summary_of_run)


def demo_command(task: str, out: str, *options: str) -> list[str]:
    """A demo that prints its summary as JSON, into the folder `out`."""
    return [sys.executable, "-m", "impact_aware.cli.main", "demo", task, "--json", "--out", out, *options]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What came of all runs."""
    seconds = [row["seconds"] for row in rows]
    reasons = Counter(row["reason"] for row in rows if row["reason"])
    lost, factors = _known(rows, "states_lost"), _known(rows, "real_time_factor")
    return {
        "runs": len(rows),
        "failed": sum(bool(row["reason"]) for row in rows),
        "reasons": dict(reasons),
        "seconds": {"p50": float(np.median(seconds)), "max": float(max(seconds))},
        "states_lost": {"p50": float(np.median(lost)), "max": float(max(lost))} if lost else {},
        "real_time_factor": {"p50": float(np.median(factors)), "min": float(min(factors))} if factors else {},
        "false_detections": sum(row["false_detections"] or 0 for row in rows),
        "rows": rows,
    }


def _known(rows: list[dict[str, Any]], name: str) -> list[float]:
    """A figure of those runs that have it."""
    return [row[name] for row in rows if row[name] is not None]


def _row(start: Start, begin: float, reason: str, done: dict[str, Any]) -> dict[str, Any]:
    of_impact = done.get("impact") or done.get("grasp") or {}
    return {
        "run": start.text,
        "seconds": round(time.monotonic() - begin, 2),
        "reason": reason,
        "goal_error_m": done.get("goal_error_m"),
        "states_lost": done.get("states_lost"),
        "real_time_factor": done.get("real_time_factor"),
        "false_detections": of_impact.get("false_detections"),
    }


def why_failed(result: subprocess.CompletedProcess[str]) -> str:
    """Why a demo failed, in its own words; empty when it did not."""
    if result.returncode == 0:
        return ""
    said = [line for line in result.stderr.splitlines() if "error:" in line]
    return said[0].partition("error: ")[2] if said else f"status {result.returncode}: {result.stderr[-200:]}"


@contextlib.contextmanager
def busy_process() -> Iterator[None]:
    """A process that keeps one core busy."""
    process = subprocess.Popen(_SPIN)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _drop_caches() -> None:
    """Forget the files that were read, where the system lets this user."""
    with contextlib.suppress(OSError):
        os.sync()
        _DROP_CACHES.write_text("1")
