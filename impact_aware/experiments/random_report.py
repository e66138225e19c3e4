"""What random trials show: how many succeed, and why the others don't."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from impact_aware.experiments.campaign_store import Row
from impact_aware.experiments.judgement import CAUSES, cause_class
from impact_aware.experiments.random_setup import RANGES

_COLOURS = ("#d62728", "#e6a817", "#7b3fa0", "#2e8b57", "#8c564b", "#e377c2", "#17becf", "#333333")


def summarise_random(rows: Sequence[Row]) -> dict[str, Any]:
    """Success rates, causes of failure by class, and the ranges that were drawn from.

    Returns:
        By controller `trials`, `done` (trials that were not refused before any motion), `success_rate` (of all),
        `success_rate_of_done`, `failures` (class of cause -> `runs`, the `details` of each cause, and how the touch
        was: means of `off_centre_m` and `arms_apart_s`, with those of the successes under `touch`), and means of
        `peak`, `goal_error_m`, `slip_m` and `time_to_track_s`; and `ranges`, in words.
    """
    controllers = dict.fromkeys(row["controller"] for row in rows)
    return {
        "ranges": RANGES.describe(),
        "controllers": {name: _of([row for row in rows if row["controller"] == name]) for name in controllers},
    }


def format_random(summary: dict[str, Any]) -> str:
    """The summary for a terminal."""
    lines = [summary["ranges"], ""]
    for name, own in summary["controllers"].items():
        lines.append(
            f"{name}: {own['successes']} of {own['trials']} trials succeed ({100 * own['success_rate']:.1f} %); "
            f"{own['trials'] - own['done']} refused before any motion; "
            f"{100 * own['success_rate_of_done']:.1f} % of those done"
        )
        for cause, entry in own["failures"].items():
            lines.append(f"  {entry['runs']:>4}  {cause:<26} {CAUSES.get(cause, '')}{_touch_text(entry)}")
        lines.append(f"  {own['successes']:>4}  success{_touch_text(own['touch'])}")
    return "\n".join(lines)


def draw_random(rows: Sequence[Row], path: Path, title: str) -> None:
    """Each trial by how far the object was displaced unknown to the controller, coloured by how it ended."""
    figure, axis = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    points: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        drawn = json.loads(row["drawn"])
        points.setdefault("success" if row["success"] else cause_class(row["cause"]), []).append(
            (1e3 * drawn["displacement_m"][0], 1e3 * drawn["displacement_m"][1])
        )
    order = sorted(points, key=lambda name: (name != "success", -len(points[name])))
    for index, name in enumerate(order):
        good = name == "success"
        colour = "#9ecae1" if good else _COLOURS[(index - 1) % len(_COLOURS)]
        place = np.array(points[name])
        label = f"{name} ({len(place)})"
        size, marker = (14, "o") if good else (30, "X")
        axis.scatter(place[:, 0], place[:, 1], s=size, color=colour, marker=marker, label=label)
    axis.set_xlabel("unknown displacement across the impact, x (mm)")
    axis.set_ylabel("unknown displacement along it, y (mm)")
    axis.grid(alpha=0.3)
    axis.set_axisbelow(True)
    figure.legend(loc="outside right upper", frameon=False, title=title)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _of(rows: Sequence[Row]) -> dict[str, Any]:
    failed = [row["cause"] for row in rows if not row["success"]]
    by_class: dict[str, list[Row]] = {}
    for row in rows:
        by_class.setdefault("" if row["success"] else cause_class(row["cause"]), []).append(row)
    classes = Counter(cause_class(cause) for cause in failed)
    refused = classes["start refused"]
    good = len(rows) - len(failed)
    done = len(rows) - refused
    return {
        "trials": len(rows),
        "done": done,
        "successes": good,
        "success_rate": good / len(rows),
        "success_rate_of_done": good / done if done else float("nan"),
        "failures": {
            name: {
                "runs": count,
                "details": dict(Counter(cause for cause in failed if cause_class(cause) == name)),
                **_touch(by_class[name]),
            }
            for name, count in classes.most_common()
        },
        "touch": _touch(by_class.get("", [])),
        **{column: _mean(rows, column) for column in ("peak", "goal_error_m", "slip_m", "time_to_track_s")},
    }


def _touch(rows: Sequence[Row]) -> dict[str, float]:
    return {column: _mean(rows, column) for column in ("off_centre_m", "arms_apart_s")}


def _touch_text(touch: dict[str, Any]) -> str:
    """How the object was touched, as far as that is known."""
    parts = []
    if np.isfinite(touch["off_centre_m"]):
        parts.append(f"{1e3 * touch['off_centre_m']:.1f} mm off centre")
    if np.isfinite(touch["arms_apart_s"]) and touch["arms_apart_s"] > 0.0:
        parts.append(f"arms {1e3 * touch['arms_apart_s']:.0f} ms apart")
    return f" (touched {', '.join(parts)})" if parts else ""


def _mean(rows: Sequence[Row], column: str) -> float:
    values = [float(row.get(column, np.nan)) for row in rows]
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else float("nan")
