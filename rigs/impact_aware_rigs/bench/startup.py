"""Processor time of whole commands, from the start of the process to its end, beside bare imports."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass

from impact_aware.cli.options import MOST
from impact_aware.parameters import Options, described
from impact_aware_rigs.bench.probe_run import BenchmarkFailedError

_MAIN = ("-m", "impact_aware.cli.main")
COMMANDS: dict[str, tuple[str, ...]] = {
    "python": ("-c", "pass"),
    "numpy_pinocchio": ("-c", "import numpy, pinocchio"),
    "help": (*_MAIN, "--help"),
    "predict": (*_MAIN, "predict", "--dq", *"0.1 -0.3 0.2 0.1 0.1 0.2 0".split()),
}
"""What is started, by name."""


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """Starts of each command."""

    runs: int = described(10, "starts of each command in turn", 1, MOST)


def run(options: argparse.Namespace) -> dict[str, object]:
    """Measure: user and system time of each command, s, best of all its runs.

    Raises:
        BenchmarkFailedError: A command failed.
    """
    seconds = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(options.runs):
        for name, arguments in COMMANDS.items():
            seconds[name] = min(seconds[name], _processor_seconds(name, arguments))
    return {"runs": options.runs, "seconds": seconds}


def _processor_seconds(name: str, arguments: tuple[str, ...]) -> float:
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    complaint = process.stderr.read().decode(errors="replace")
    # Not by Popen, which does not say what the process took.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode != 0:
        raise BenchmarkFailedError(f"{name} ended with {process.returncode}: {complaint.strip()[-200:]}")
    return usage.ru_utime + usage.ru_stime
