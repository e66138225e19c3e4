"""`impact-aware doctor`: what stands in the way of this graph, and of a control loop on this machine."""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import textwrap
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from impact_aware.bringup.host_check import Finding, look_at_host, measure_jitter
from impact_aware.bringup.middleware import MissingRosError
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.bringup.processes import NodeProcess, end_processes
from impact_aware.cli.output import show
from impact_aware.errors import one_line
from impact_aware.parameters import Options, described
from impact_aware.ranges import Range

PATIENCE = 20.0
"""Time that the node has to start and to end, s."""

WIDTH, INDENT = 100, 9
"""Columns of the output, and of them before each finding."""

_wrapped = partial(textwrap.wrap, break_on_hyphens=False)

_WORDS = {"": "ok", None: "unknown"}


@dataclass(frozen=True, kw_only=True)
class DoctorOptions(Options):
    """What is looked at."""

    joint_states: str | None = described(None, "topic of an arm's states", absent="every topic of that name")
    robot: str = described("", "profile whose joints are looked for")
    listen: float = described(3.0, "time for which the graph is looked at, or 0", within=Range(0.0, 60.0, "s"))
    network_card: str = described("", "card to the arm, such as eth1")
    seconds: float = described(5.0, "time for which wake-ups are measured, or 0", within=Range(0.0, 3600.0, "s"))


OPTIONS = (DoctorOptions,)


def run(args: argparse.Namespace) -> int:
    """Look, measure, print; the exit status is 1 when there is something to do."""
    findings = look_at_graph(args.joint_states or "", args.robot, args.listen) if args.listen else []
    findings += look_at_host(args.network_card)
    if args.seconds:
        findings.append(measure_jitter(args.seconds))
    to_do = sum(bool(own.advice) for own in findings)
    show(args, {"to_do": to_do, "findings": [vars(own) for own in findings]}, lambda: screen(findings))
    return 1 if to_do else 0


def look_at_graph(joint_states: str, robot: str, seconds: float) -> list[Finding]:
    """What the node `graph_probe` finds in `seconds`, s; one finding of unknown outcome where it can't run."""
    parameters = {"joint_states": joint_states, "robot": robot, "seconds": max(seconds, 0.5)}
    spec = NodeSpec("graph_probe", "graph_probe", parameters=parameters)
    with tempfile.TemporaryDirectory(prefix="impact_aware_") as folder:
        try:
            process = NodeProcess(spec, dict(os.environ), Path(folder), talk=True)
        except MissingRosError as error:
            return [Finding("ROS graph", str(error), None)]
        try:
            process.process.wait(seconds + PATIENCE)
        except subprocess.TimeoutExpired:
            end_processes([process])
        process.close()
        found = [Finding(**line) for line in process.read_lines()]
        return found or [Finding("ROS graph", process.log.read_text(errors="replace").strip() or "no answer", None)]


def screen(findings: list[Finding]) -> str:
    """The findings as text for one screen: remedies whole, and the first two lines of what was found."""
    lines = []
    for own in findings:
        words = one_line(f"{own.name}: {own.found}")
        part = _wrapped(words, WIDTH - INDENT, max_lines=2, placeholder=" ... (--json)")
        text = " ".join([*part, *(["->", one_line(own.advice)] if own.advice else [])])
        word = _WORDS.get(own.advice, "to do")
        lines += _wrapped(text, WIDTH, initial_indent=word.ljust(INDENT), subsequent_indent=INDENT * " ")
    return "\n".join(lines)
