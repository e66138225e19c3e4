"""A long run of the suite at full rate in real time: memory, missed cycles, latency and logs over time.

The latency probe plays the robot's driver at 1 kHz; detector, predictor, reference field and controller run as they
would on hardware. A process grows when its memory at the end exceeds that after the first tenth of the run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from impact_aware.bringup.processes import NodeProcess
from impact_aware.bringup.urgency import BY_DEFAULT, add_priority, chosen_priority, urgent
from impact_aware.errors import InvalidInputError
from impact_aware.json_text import json_text
from impact_aware_rigs.bench.dds import one_arm
from impact_aware_rigs.bench.probe_run import run_probe
from impact_aware_rigs.figures import resident_bytes
from impact_aware_rigs.graph_run import Line

SAMPLE_PERIOD = 2.0
"""Time between two looks at the memory, s."""

SETTLED = 0.1
"""Share of the run after which memory should not grow any more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how long to run."""
    parser.add_argument("--minutes", type=float, default=30.0, help="length of the run (default 30)")
    parser.add_argument("--rate", type=float, default=1000.0, help="states per second (default 1000)")
    parser.add_argument("--robot", default="panda", help="robot profile (default panda)")
    add_priority(parser, "all nodes, baseline and probe included", BY_DEFAULT)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run; per process the memory after the first tenth and at the end, and per tenth of the run the latencies.

    Raises:
        InvalidInputError: Too short a run.
        BenchmarkFailedError: A node died or went to its safe mode.
    """
    if not 0.2 <= options.minutes <= 10080.0:
        raise InvalidInputError("--minutes", options.minutes, "0.2 minutes to a week")
    duration, priority = 60.0 * options.minutes, chosen_priority(options.priority)
    arm = one_arm(options.robot, options.rate, markers=True)
    probe, *nodes = urgent(
        [arm.probe(rate=options.rate, duration=duration, report_period=duration / 10.0), *arm.graph], priority
    )
    memory = MemoryLog()
    with tempfile.TemporaryDirectory(prefix="impact_aware_soak_") as folder:
        logs = Path(folder) if options.out is None else options.out / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        with tqdm(total=10, desc="soak", unit="block", disable=not sys.stderr.isatty()) as bar:

            def show(line: Line) -> None:
                bar.update()
                if options.out is not None:
                    with (options.out / "soak_blocks.jsonl").open("a") as file:
                        file.write(json_text(line) + "\n")

            try:
                blocks = run_probe(probe, nodes, duration, on_line=show, on_tick=memory.look, logs=logs)
            finally:
                # Also of a run that failed: hours of samples are not to be lost.
                if options.out is not None:
                    memory.write(options.out / "soak_memory.json")
        log_lines = {path.stem: len(path.read_text(errors="replace").splitlines()) for path in sorted(logs.glob("*"))}
    return {
        "minutes": options.minutes,
        "priority": priority,
        "memory": memory.growth(),
        "aim_growth_MB": 2.0,
        "blocks": [{key: value for key, value in block.items() if key != "last"} for block in blocks],
        "lost_share": sum(block["lost"] for block in blocks) / sum(block["sent"] for block in blocks),
        "log_lines": log_lines,
    }


class MemoryLog:
    """Resident memory of processes over time."""

    def __init__(self) -> None:
        """Start empty."""
        self._samples: dict[str, list[tuple[float, float]]] = {}
        self._next = 0.0

    def look(self, processes: dict[str, NodeProcess]) -> None:
        """Take a sample of each process that runs, when one is due."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + SAMPLE_PERIOD
        for name, process in processes.items():
            resident = resident_bytes(process.process.pid)
            if process.running and resident is not None:
                self._samples.setdefault(name, []).append((now, 1e-6 * resident))

    def growth(self) -> dict[str, dict[str, float]]:
        """Per process: MB after the first tenth and at the end, as medians of some samples, and their difference."""
        result = {}
        for name, samples in self._samples.items():
            values = np.array([resident for _, resident in samples])
            # The last samples can be of a process that is already ending.
            values = values[: max(len(values) - 1, 1)]
            few = max(1, len(values) // 20)
            begin = round(SETTLED * len(values))
            first, last = float(np.median(values[begin : begin + few])), float(np.median(values[-few:]))
            result[name] = {"first_MB": first, "last_MB": last, "growth_MB": last - first}
        return result

    def write(self, path: Path) -> None:
        """All samples, per process as [s since the first, MB]."""
        began = min((samples[0][0] for samples in self._samples.values()), default=0.0)
        rounded = {
            name: [[round(when - began, 1), round(resident, 2)] for when, resident in samples]
            for name, samples in self._samples.items()
        }
        path.write_text(json_text(rounded))
