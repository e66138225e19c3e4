"""`impact-aware check-host`: whether this machine can keep the time of a control loop, and what to do."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import dataclass

from impact_aware.bringup.host_check import Finding, look_at_host, measure_jitter
from impact_aware.cli.options import add_options
from impact_aware.cli.output import show
from impact_aware.parameters import Options, described
from impact_aware.ranges import Range

_WORDS = {"": "ok", None: "unknown"}


@dataclass(frozen=True, kw_only=True)
class HostOptions(Options):
    """What is looked at."""

    network_card: str = described("", "card to the arm, such as eth1")
    seconds: float = described(5.0, "time for which wake-ups are measured, or 0", within=Range(0.0, 3600.0, "s"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_options(parser, HostOptions)


def run(args: argparse.Namespace) -> int:
    """Look, measure, print; the exit status is 1 when there is something to do."""
    findings = look_at_host(args.network_card)
    if args.seconds:
        findings.append(measure_jitter(args.seconds))
    to_do = sum(bool(own.advice) for own in findings)
    show(args, {"to_do": to_do, "findings": [vars(own) for own in findings]}, lambda: _table(findings))
    return 1 if to_do else 0


def _table(findings: list[Finding]) -> str:
    lines = []
    for own in findings:
        lines.append(f"{_WORDS.get(own.advice, 'to do'):9s}{own.name}: {own.found}")
        if own.advice:
            lines += textwrap.wrap(own.advice, 110, initial_indent=9 * " ", subsequent_indent=9 * " ")
    return "\n".join(lines)
