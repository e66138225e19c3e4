"""`impact-aware faults`: inject faults in process or into running nodes and check how the suite reacts."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from impact_aware.bringup.domain import add_domain
from impact_aware.cli.options import MOST, add_options
from impact_aware.cli.output import keep_json, show
from impact_aware.parameters import Options, described
from impact_aware.robot.profile import SIMULATED_INTERFACES


@dataclass(frozen=True, kw_only=True)
class FaultOptions(Options):
    """Faults, and where they are injected."""

    faults: tuple[str, ...] = described(
        (), "classes of faults, such as silence nan", metavar="CLASS", positional=True, absent="all"
    )
    runs: int = described(500, "least number of trials in process", 1, MOST)
    seed: int = described(0, "seed of all that is random", 0, MOST)
    modes: tuple[str, ...] = described((), "of ante, interim, post, safe", metavar="MODE", absent="all")
    arms: int = described(1, "1 that pushes, or 2 that grab and lift, in process", 1, 2)
    interface: str = described(
        SIMULATED_INTERFACES[0], "what the controller commands the arms by", choices=SIMULATED_INTERFACES
    )
    workers: int = described(1, "processes", 1, 1000)
    list: bool = described(False, "print the classes and end")
    dds: bool = described(False, "kill and stall real nodes over DDS, one run per CLASS")
    fuzz: int | None = described(None, "give every node N random messages", 1, MOST)
    node: tuple[str, ...] = described((), "nodes to fuzz", metavar="NODE", absent="all")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_options(parser, FaultOptions)
    add_domain(parser)


def run(args: argparse.Namespace) -> int:
    """Run the requested faults; the exit status is 1 when a requirement was violated."""
    if args.list:
        from impact_aware_rigs.faults.classes import FAULT_CLASSES

        texts = {name: fault.text for name, fault in FAULT_CLASSES.items()}
        show(args, texts, "\n".join(f"{name:22s}{text}" for name, text in texts.items()))
        return 0
    if args.fuzz is not None:
        from impact_aware_rigs.fuzz.command import run_fuzz

        summary, text = run_fuzz(args)
    elif args.dds:
        from impact_aware_rigs.faults.dds import run_dds

        summary, text = run_dds(args)
    else:
        summary, text = _run_campaign(args)
    keep_json(args.out, "summary.json", summary)
    show(args, summary, text)
    return 1 if summary["failed"] else 0


def _run_campaign(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from impact_aware_rigs.faults.campaign import execute, format_table, plan, summarise

    trials = plan(args.runs, args.seed, args.faults, args.modes, args.interface)
    begin = time.perf_counter()
    with tqdm(total=len(trials), desc="faults", unit="run", disable=args.json or not sys.stderr.isatty()) as bar:
        results = execute(trials, args.workers, lambda _result: bar.update(), arms=args.arms)
    summary = summarise(results) | {
        "arms": args.arms,
        "interface": args.interface,
        "seed": args.seed,
        "wall_s": round(time.perf_counter() - begin, 1),
    }
    lines = [format_table(summary), ""]
    for trial in summary["failed_trials"][:20]:
        which = f"{trial['fault']} in {trial['mode']}, seed {trial['seed']}, {trial['world']} world"
        lines.append(f"failed: {which}: {trial['failures'][0]}")
    if args.arms > 1:
        held, dropped = summary["objects"]["held"], summary["objects"]["dropped"]
        lines.append(f"an object was held when the safe mode began in {held} runs, and dropped in {dropped}")
    lines.append(
        f"{summary['runs']} runs, {summary['failed']} failed, at rest within {summary['longest_rest_s']} s, "
        f"largest torque {summary['peak_effort_share']:.3f} and torque rate {summary['peak_rate_share']:.3f} of "
        f"their limits, {summary['wall_s']} s"
    )
    return summary, "\n".join(lines)
