"""Processor time of whole commands, from the start of the process to its end, beside bare imports."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from impact_aware.errors import InvalidInputError
from impact_aware_rigs.bench.probe_run import BenchmarkFailedError

_MAIN = ("-m", "impact_aware.cli.main")
COMMANDS: dict[str, tuple[str, ...]] = {
    "python": ("-c", "pass"),
    "numpy_pinocchio": ("-c", "import numpy, pinocchio"),
    "help": (*_MAIN, "--help"),
    "predict": (*_MAIN, "predict", "--dq", *"0.1 -0.3 0.2 0.1 0.1 0.2 0".split()),
}
"""What is started, by name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how often each command is started."""
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="starts of each command in turn; default 10")


def run(options: argparse.Namespace) -> dict[str, object]:
    """Measure: user and system time of each command, s, best of all its runs.

    Raises:
        InvalidInputError: No run.
        BenchmarkFailedError: A command failed.
    """
    if options.runs < 1:
        raise InvalidInputError("--runs", options.runs, "at least 1")
    seconds = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(options.runs):
        for name, arguments in COMMANDS.items():
            seconds[name] = min(seconds[name], _processor_seconds(name, arguments))
    return {"runs": options.runs, "seconds": seconds, "aim_seconds": {"help": 0.3, "predict": 1.0}}


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
