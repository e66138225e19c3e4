"""Torques for every state beside laws for the time between messages: seeded hits with commands that are late or lost.

Every case has the same random trials of a campaign, on the simulated plant in process. An arm holds the last torque
that it got, and follows the last law.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from impact_aware.control.local_law import DEFAULT_VALIDITY, check_laws, check_rate
from impact_aware.errors import InvalidInputError
from impact_aware.experiments.campaign import RunOptions, run_setup
from impact_aware.experiments.campaign_plan import CAMPAIGNS
from impact_aware.experiments.command_link import CommandLink, LinkSettings
from impact_aware.experiments.judgement import cause_class
from impact_aware.experiments.random_setup import RandomSetup, plan_random
from impact_aware.robot.profile import PLANTS, SIMULATED_INTERFACES
from impact_aware.worker_pool import finished

RATES = (200.0, 250.0, 500.0)
DELAYS = (0.0, 2.0, 5.0, 10.0)
LOSSES = (0.0, 0.05, 0.2)

EFFORT_RATE = 1000.0
"""Torques answer every state, Hz."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="hits of each case (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all that is random (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--campaign", choices=CAMPAIGNS, default="hit-and-push", help="default: %(default)s")
    parser.add_argument("--plant", choices=PLANTS, default=PLANTS[0], help="joints of the arms (default: %(default)s)")
    known = ", ".join(SIMULATED_INTERFACES)
    parser.add_argument("--interfaces", nargs="+", default=SIMULATED_INTERFACES, metavar="NAME", help=f"of {known}")
    parser.add_argument("--rates", type=float, nargs="+", default=RATES, metavar="HZ", help="of the laws")
    parser.add_argument("--delays", type=float, nargs="+", default=DELAYS, metavar="MS", help="of the commands")
    parser.add_argument("--losses", type=float, nargs="+", default=LOSSES, metavar="SHARE", help="of the commands")
    usual = 1e3 * DEFAULT_VALIDITY
    parser.add_argument(
        "--validity", type=float, default=usual, metavar="MS", help="of the laws (default: %(default)g)"
    )


@dataclass(frozen=True)
class Job:
    """One hit of one case."""

    setup: RandomSetup
    options: RunOptions
    link: LinkSettings


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Do all hits of all cases.

    Raises:
        InvalidInputError: No hit, a negative seed, no worker, or a rate, delay or loss out of its range.
        UnknownNameError: No interface of a name.
    """
    if options.seed < 0:
        raise InvalidInputError("--seed", options.seed, "a number >= 0")
    if options.workers < 1:
        raise InvalidInputError("--workers", options.workers, "at least 1")
    if options.runs < 1:
        raise InvalidInputError("--runs", options.runs, "at least 1")
    links = cases(options.interfaces, options.rates, options.delays, options.losses, options.validity / 1000.0)
    setups = plan_random(options.campaign, options.runs)
    shared = RunOptions(seed=options.seed, plant=options.plant)
    jobs = {(c, s): Job(setup, shared, link) for c, link in enumerate(links) for s, setup in enumerate(setups)}
    rows: list[list[dict[str, Any]]] = [[] for _ in links]
    with tqdm(total=len(jobs), desc="hits", unit="hit", disable=not sys.stderr.isatty()) as bar:
        one = options.workers == 1
        done = ((key, hit(job)) for key, job in jobs.items()) if one else finished(jobs, hit, options.workers)
        for (case, _), row in done:
            rows[case].append(row)
            bar.update()
    return {
        "cases": [figures(link, own) for link, own in zip(links, rows, strict=True)],
        "drawn": {
            "runs": options.runs,
            "seed": options.seed,
            "campaign": options.campaign,
            "plant": options.plant,
        },
    }


def cases(
    interfaces: list[str],
    rates: list[float],
    delays: list[float],
    losses: list[float],
    validity: float = DEFAULT_VALIDITY,
) -> list[LinkSettings]:
    """Every interface, law rate in Hz, delay in ms and loss with each other; laws are valid for `validity`, s.

    Raises:
        InvalidInputError: A rate, delay, loss or validity out of its range, or laws that end before the next one.
        UnknownNameError: No interface of a name.
    """
    found = []
    for interface in interfaces:
        for rate in rates if interface == "local_law" else (EFFORT_RATE,):
            check_rate("--rates", rate)
            if interface == "local_law":
                check_laws(rate, validity)
            found += [
                LinkSettings(interface, rate, 1e-3 * delay, loss, validity) for delay in delays for loss in losses
            ]
    return found


def hit(job: Job) -> dict[str, Any]:
    """One hit: the campaign's figures, and those of the link."""
    link = CommandLink(job.link, seed=job.options.seed + job.setup.number)
    row = run_setup(job.setup, job.options, link)
    return row | {"largest_step": link.largest_step, "unled": link.unled}


def figures(link: LinkSettings, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What the hits of one case came to; peaks are medians over them, of those that began."""
    # A start that is refused was out of reach: no command was ever on its way.
    rows = [row for row in rows if cause_class(row["cause"]) != "start refused"]
    peaks = [row["peak"] for row in rows if "peak" in row]
    rates = [1e3 * row["largest_step"] for row in rows]
    return {
        "interface": link.interface,
        "rate_hz": link.rate,
        "delay_ms": 1e3 * link.delay,
        "loss": link.loss,
        "validity_ms": 1e3 * link.validity,
        "runs": len(rows),
        "success": sum(row["success"] for row in rows) / len(rows) if rows else None,
        "peak": float(np.median(peaks)) if peaks else None,
        "peak_torque_rate": float(np.median(rates)) if rates else None,
        "peak_torque_rate_largest": max(rates, default=None),
        "drop_outs": sum(row["unled"] > 0 for row in rows),
        "cycles_unled": sum(row["unled"] for row in rows),
        "failures": dict(Counter(row["cause"] for row in rows if not row["success"])),
    }
