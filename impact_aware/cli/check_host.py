"""`impact-aware check-host`: whether this machine can keep the time of a control loop, and what to do."""

from __future__ import annotations

import argparse
import textwrap

from impact_aware.bringup.host_check import Finding, look_at_host, measure_jitter
from impact_aware.cli.numbers import real
from impact_aware.json_text import json_text

_WORDS = {"": "ok", None: "unknown"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--network-card", default="", metavar="NAME", help="the card to the arm, such as eth1")
    parser.add_argument(
        "--seconds",
        type=real(0.0, 3600.0),
        default=5.0,
        help="time for which wake-ups are measured, or 0 (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Look, measure, print; the exit status is 1 when there is something to do."""
    findings = look_at_host(args.network_card)
    if args.seconds:
        findings.append(measure_jitter(args.seconds))
    to_do = sum(bool(own.advice) for own in findings)
    print(json_text({"to_do": to_do, "findings": [vars(own) for own in findings]}) if args.json else _table(findings))
    return 1 if to_do else 0


def _table(findings: list[Finding]) -> str:
    lines = []
    for own in findings:
        lines.append(f"{_WORDS.get(own.advice, 'to do'):9s}{own.name}: {own.found}")
        if own.advice:
            lines += textwrap.wrap(own.advice, 110, initial_indent=9 * " ", subsequent_indent=9 * " ")
    return "\n".join(lines)
