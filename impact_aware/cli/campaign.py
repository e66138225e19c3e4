"""`impact-aware campaign TASK`: the ablation of van Steen 2024 in process, without DDS, resumable."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from impact_aware.cli.options import MOST
from impact_aware.cli.output import keep_json, progress, show
from impact_aware.control import VARIANTS
from impact_aware.experiments.campaign import COLUMNS, RunOptions, keep_maps, simulate
from impact_aware.experiments.campaign_plan import CAMPAIGNS, CONTROLLERS, Setup, plan
from impact_aware.experiments.campaign_report import format_table, summarise
from impact_aware.experiments.campaign_store import CampaignStore, execute
from impact_aware.experiments.episode_settings import PREDICTIONS
from impact_aware.json_text import finite
from impact_aware.library_settings import figure_settings
from impact_aware.output_folder import write_whole
from impact_aware.parameters import Options, described
from impact_aware.robot.profile import PLANTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class CampaignOptions(Options):
    """The runs, and where they are done."""

    task: str = described(..., "task", choices=tuple(CAMPAIGNS), positional=True)
    repeats: int = described(5, "repeats of each setup", 1, 10_000)
    workers: int = described(2, "processes", 1, 1000)
    seed: int = described(0, "seed of all disturbances", 0, MOST)
    controllers: tuple[str, ...] | None = described(None, ", ".join(CONTROLLERS), absent=f"the first {len(VARIANTS)}")
    impact_map: str = described(
        "direct", "object velocity after the impact: at the detected state, or from a map sampled once per object",
        choices=PREDICTIONS,
    )  # fmt: skip
    plant: str = described(
        PLANTS[0], "joints with elasticity, motors, friction and torque loop, or rigid ones", choices=PLANTS
    )
    no_figures: bool = described(False, "leave the figures out")


OPTIONS = (CampaignOptions,)


def run(args: argparse.Namespace) -> int:
    """Do the runs that are not done yet, and report on all of them."""
    begin = time.perf_counter()
    out = args.out or Path("results") / f"campaign-{args.task}"
    options = RunOptions(args.seed, impact_map=args.impact_map, plant=args.plant, maps=str(out))
    # All checks come before the folder is touched.
    setups = plan(args.task, args.repeats, args.controllers or VARIANTS)
    store = CampaignStore(out, options.head(args.task), COLUMNS)
    try:
        return _run(args, options, setups, store, begin)
    finally:
        store.close()


def _run(
    args: argparse.Namespace, options: RunOptions, setups: Sequence[Setup], store: CampaignStore, begin: float
) -> int:
    """Do and report the runs with the folder open; `begin` is the command's start, s of the performance counter."""
    out = store.path.parent
    done = sum(setup.key in store.rows for setup in setups)
    keep_maps(setups, options)
    with progress(total=len(setups), initial=done, desc=args.task, unit="run") as bar:
        execute(setups, store, options, workers=args.workers, on_row=lambda row: bar.update())
    rows = [store.rows[setup.key] for setup in setups]
    summary = summarise(rows)
    if not args.no_figures:
        with figure_settings():
            for name, figure in _figures(args.task, summary, setups, options).items():
                write_whole(out / f"{name}.png", partial(figure.savefig, format="png", dpi=150))
    summary |= {
        "task": args.task,
        "seed": args.seed,
        "impact_map": args.impact_map,
        "plant": args.plant,
        "runs": len(rows),
        "wall_s": round(time.perf_counter() - begin, 1),
        "cpu_s": round(sum(float(row["cpu_s"]) for row in rows), 1),
        "resumed": done,
    }
    text = format_table(summary)
    summary = finite(summary)
    keep_json(out, "summary.json", summary)
    show(args, summary, f"{text}\n\n{summary['runs']} runs, results in {args.out or out}")
    return 0


def _figures(task: str, summary: dict[str, Any], setups: Sequence[Setup], options: RunOptions) -> dict[str, Figure]:
    """The figures by the names of their files; the paper's comparison is simulated anew."""
    from impact_aware.experiments.campaign_plots import plot_comparison, plot_groups

    shown = {
        setup.controller: simulate(setup, options)
        for setup in setups
        if (setup.object, setup.displacement, setup.start, setup.repeat) == (*CAMPAIGNS[task].shown, 0, 0)
    }
    return {"groups": plot_groups(summary, task), "comparison": plot_comparison(shown)}
