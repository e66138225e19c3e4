"""Random messages for the nodes, each in a process, and one table of what they did with them."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from tqdm import tqdm

from impact_aware.bringup.domain import own_domain
from impact_aware.bringup.processes import quiet_environment
from impact_aware.errors import ImpactAwareError
from impact_aware_rigs.figures import markdown_table
from impact_aware_rigs.fuzz.subjects import SUBJECTS, subject

MOST_GROWTH_KIB = 4096
"""Memory that a node may take more after the first fifth of the messages: what an allocator keeps without a leak."""

MOST_LATE_GROWTH_KIB = 1024
"""Memory that it may take more over the last two fifths, when everything has happened before."""

ENOUGH = 100_000
"""Messages from which on that is so: what remembers the last thousand events is full then."""


class FuzzFailedError(ImpactAwareError):
    """The process of a node ended without a result."""


def run_fuzz(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Fuzz the nodes that `args` names, one after the other.

    Raises:
        UnknownNameError: No node of that name.
        FuzzFailedError: A node's process died.
    """
    for name in args.node:
        subject(name)
    results = []
    quiet = args.json or not sys.stderr.isatty()
    for name in tqdm(args.node or SUBJECTS, desc="fuzz", unit="node", disable=quiet):
        command = [sys.executable, "-m", "impact_aware_rigs.fuzz.fuzz", name, str(args.fuzz), str(args.seed)]
        with own_domain(args.domain) as domain:
            environment = quiet_environment(domain)
            process = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if process.returncode != 0:
            last = (process.stderr.strip().splitlines() or ["no word"])[-1]
            raise FuzzFailedError(f"the fuzzed {name} ended with status {process.returncode}: {last}")
        results.append(json.loads(process.stdout.strip().splitlines()[-1]))
    failed = [own["node"] for own in results if own["exceptions"] or grows(own)]
    summary = {"failed": len(failed), "failed_nodes": failed, "seed": args.seed, "nodes": results}
    return summary, format_table(results)


def grows(result: dict[str, Any]) -> bool:
    """Whether the process of a node grew by more than may be."""
    late = result["grown_late_kib"] > MOST_LATE_GROWTH_KIB
    return bool(result["grown_kib"] > MOST_GROWTH_KIB or (late and result["messages"] >= ENOUGH))


def format_table(results: list[dict[str, Any]]) -> str:
    """A Markdown table, a row per node, and what was raised."""
    rows, lines = [], []
    for own in results:
        counts = str(own["messages"]), str(own["spoilt"]), str(own["exceptions"])
        memory = f"{own['grown_kib']} KiB", f"{own['grown_late_kib']} KiB"
        rows.append((f"`{own['node']}`", *counts, *memory, f"{own['wall_s']:.0f} s"))
        lines += [f"{own['node']}: {error}, {count} times" for error, count in own["errors"].items()]
    head = ("node", "messages", "spoilt", "exceptions", "memory grown by", "of that late", "wall time")
    return "\n".join([markdown_table(head, rows), *lines])
