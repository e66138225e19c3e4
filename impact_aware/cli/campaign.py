"""`impact-aware campaign TASK`: the ablation of paper 002 in process, without DDS, resumable."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tqdm import tqdm

from impact_aware.analysis.campaign_report import draw_comparison, draw_groups, format_table, summarise
from impact_aware.control import VARIANTS
from impact_aware.simulation.campaign import (
    CAMPAIGNS,
    CONTROLLERS,
    CampaignStore,
    Disturbances,
    execute,
    plan,
    simulate,
)

NAME = "campaign"
HELP = "compare the controllers over many simulated runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("task", choices=tuple(CAMPAIGNS), metavar="TASK", help=", ".join(CAMPAIGNS))
    parser.add_argument("--repeats", type=int, default=5, help="repeats of each setup (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all disturbances (default: %(default)s)")
    parser.add_argument(
        "--controllers", nargs="+", default=list(VARIANTS), metavar="NAME", help="of " + ", ".join(CONTROLLERS)
    )
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="Dask scheduler, such as tcp://HOST:8786, in place of workers"
    )
    parser.add_argument("--no-figures", action="store_true", help="leave the figures out")


def run(args: argparse.Namespace) -> int:
    """Do the runs that are not done yet, and report on all of them."""
    begin = time.perf_counter()
    out = args.out or Path("results") / f"campaign-{args.task}"
    disturbances = Disturbances()
    setups = plan(args.task, args.repeats, args.controllers)
    store = CampaignStore(out, args.task, args.seed, disturbances)
    done = sum(setup.key in store.rows for setup in setups)
    quiet = args.json or not sys.stderr.isatty()
    with tqdm(total=len(setups), initial=done, desc=args.task, unit="run", disable=quiet) as bar:
        execute(
            setups,
            store,
            args.seed,
            disturbances,
            workers=args.workers,
            cluster=args.cluster,
            on_row=lambda row: bar.update(),
        )
    rows = [store.rows[setup.key] for setup in setups]
    summary = summarise(rows)
    if not args.no_figures:
        draw_groups(summary, out / "groups.png", args.task)
        nominal = {
            setup.controller: setup for setup in reversed(setups) if setup.repeat == 0 and not setup.displacement
        }
        results = {name: simulate(setup, args.seed, disturbances) for name, setup in nominal.items()}
        draw_comparison(results, out / "comparison.png")
    summary |= {
        "task": args.task,
        "seed": args.seed,
        "wall_s": round(time.perf_counter() - begin, 1),
        "cpu_s": round(sum(row["wall_s"] for row in rows), 1),
        "resumed": done,
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    print(json.dumps(summary) if args.json else f"{format_table(summary)}\n\n{summary['runs']} runs, results in {out}")
    return 0
