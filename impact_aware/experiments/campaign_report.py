"""What a campaign shows: mean peaks by group and controller, success rates, and the figures of van Steen 2024."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from impact_aware.control import VARIANTS
from impact_aware.experiments.campaign_plan import CONTROLLERS
from impact_aware.experiments.campaign_store import Row
from impact_aware.experiments.episode_result import EpisodeResult

_LARGEST_JUMP = 0.10

FACTORS = {"object": "object", "initial": "start", "displacement": "displacement"}
LABELS = {
    "proposed": "proposed",
    "no_rs": "no RS",
    "no_interim": "no interim mode",
    "no_impact_map": "no impact map",
    "proposed_completion": "proposed, completion",
}
COLOURS = {
    "no_rs": "#1f77b4",
    "no_interim": "#d62728",
    "no_impact_map": "#e6a817",
    "proposed": "#7b3fa0",
    "proposed_completion": "#2e8b57",
}


def summarise(rows: Sequence[Row]) -> dict[str, Any]:
    """Groups as in Figures 7 and 10 of van Steen 2024, success rates, and where the proposed controller is best.

    Args:
        rows: Finished runs.

    Returns:
        `groups` (factor -> value -> controller -> mean of `peak`), `groups_linear` (the same of `peak_linear`) and
        `groups_linear_after` (of `peak_linear_after`, from the detection on, up to which all controllers act alike);
        `proposed_lowest_in` and the same `_linear` and `_linear_after` (shares of groups in which the proposed
        controller is below every baseline of the paper), `proposed_lowest_or_tied_in` likewise; by controller
        `success_rate`, `peak`, `peak_linear` and `time_to_track_s` (means), `never_tracked` (runs in which the
        reference was not reached, which the mean leaves out), `torque_jump` and `torque_swing` (`largest` and `mean`
        share of the torque range at mode switches, and in which share of the runs it is `over_10_percent`),
        `object_prediction` (`error` against the true velocity and `difference` from the direct prediction, means, m/s),
        `failures` (cause -> runs); and `runs`.
    """
    controllers = [name for name in CONTROLLERS if any(row["controller"] == name for row in rows)]
    columns = ("peak", "peak_linear", "peak_linear_after")
    groups, groups_linear, groups_linear_after = (_groups(rows, controllers, column) for column in columns)
    own = {name: [row for row in rows if row["controller"] == name] for name in controllers}

    def means(column: str) -> dict[str, float]:
        return {name: _mean(own[name], column) for name in controllers}

    return {
        "groups": groups,
        "groups_linear": groups_linear,
        "groups_linear_after": groups_linear_after,
        "success_rate": {name: float(np.mean([row["success"] for row in own[name]])) for name in controllers},
        "proposed_lowest_in": _share_lowest(groups),
        "proposed_lowest_or_tied_in": _share_lowest(groups, tied=True),
        "proposed_lowest_in_linear": _share_lowest(groups_linear),
        "proposed_lowest_or_tied_in_linear": _share_lowest(groups_linear, tied=True),
        "proposed_lowest_in_linear_after": _share_lowest(groups_linear_after),
        "peak": means("peak"),
        "peak_linear": means("peak_linear"),
        "peak_linear_after": means("peak_linear_after"),
        "time_to_track_s": means("time_to_track_s"),
        "never_tracked": {
            name: int(sum(np.isposinf(float(row.get("time_to_track_s", np.nan))) for row in own[name])) for name in own
        },
        "torque_jump": {name: _jumps(own[name], "torque_jump") for name in controllers},
        "torque_swing": {name: _jumps(own[name], "torque_swing") for name in controllers},
        "slip_m": means("slip_m"),
        "goal_error_m": means("goal_error_m"),
        "object_prediction": {
            "error": _mean(rows, "object_prediction_error"),
            "difference": _mean(rows, "object_prediction_difference"),
            "largest_difference": _largest(rows, "object_prediction_difference"),
        },
        "detection_delay_ms": {
            "mean": 1e3 * _mean(rows, "detection_delay_s"),
            "largest": 1e3 * _largest(rows, "detection_delay_s"),
        },
        "false_detections": int(sum(_finite(rows, "false_detections"))),
        "prediction_error": _mean(rows, "prediction_error"),
        "failures": {
            name: dict(Counter(row["cause"] for row in own[name] if not row["success"])) for name in controllers
        },
        "runs": len(rows),
    }


def format_table(summary: dict[str, Any]) -> str:
    """The groups and success rates as a table for a terminal."""
    controllers = list(summary["success_rate"])
    lines = ["mean peak of the target acceleration norm (linear part from the detection on, m/s^2, in brackets)", ""]
    lines.append(f"{'group':<26}" + "".join(f"{LABELS[name]:>22}" for name in controllers))
    for factor, values in summary["groups"].items():
        for value, means in values.items():
            linear = summary["groups_linear_after"][factor][value]
            cells = "".join(f"{f'{means[name]:.2f} ({linear[name]:.2f})':>22}" for name in controllers)
            lines.append(f"{factor + ' ' + value:<26}{cells}")
    lines.append("")
    shares = {
        "success": summary["success_rate"],
        "torque jump, one cycle": {name: entry["largest"] for name, entry in summary["torque_jump"].items()},
        "torque jump, 10 cycles": {name: entry["largest"] for name, entry in summary["torque_swing"].items()},
    }
    for label, values in shares.items():
        lines.append(f"{label:<26}" + "".join(f"{f'{100 * values[name]:.1f} %':>22}" for name in controllers))
    tracking = summary["time_to_track_s"]
    lines.append(f"{'time to track':<26}" + "".join(f"{f'{1e3 * tracking[name]:.0f} ms':>22}" for name in controllers))
    return "\n".join(lines)


def draw_groups(summary: dict[str, Any], path: Path, title: str) -> None:
    """Bars of the mean peak by object, initial configuration and displacement: van Steen 2024, Figs. 7 and 10."""
    controllers = [name for name in COLOURS if name in summary["success_rate"]]
    names = {"object": "object", "initial": "initial configuration", "displacement": "displacement of the object"}
    figure, axes = plt.subplots(1, 3, figsize=(12.0, 4.0), sharey=True, layout="constrained")
    for axis, (factor, values) in zip(axes, summary["groups"].items(), strict=True):
        places = np.arange(len(values))
        width = 0.8 / len(controllers)
        for index, name in enumerate(controllers):
            heights = [means[name] for means in values.values()]
            offset = (index - 0.5 * (len(controllers) - 1)) * width
            axis.bar(places + offset, heights, 0.92 * width, color=COLOURS[name], label=LABELS[name])
        axis.set_xticks(places, [value.replace("_", " ") for value in values])
        axis.set_xlabel(names[factor])
        axis.grid(axis="y", alpha=0.3)
        axis.set_axisbelow(True)
    axes[0].set_ylabel("mean peak of |target acceleration|\n(m/s², rad/s²)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False, title=title)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_comparison(results: dict[str, EpisodeResult], path: Path, axis_index: int = 1) -> None:
    """Velocity with its reference, and target acceleration, of every arm, as Figures 6, 8 and 9 of van Steen 2024.

    The runs are aligned where the impact has been detected for every arm.

    Args:
        results: One run per controller, all in the same setting.
        path: Of the figure.
        axis_index: Component along the impact.
    """
    component = "xyz"[axis_index]
    arms = next(iter(results.values())).task.arms
    size = (8.0 if len(arms) == 1 else 12.0, 6.0)
    figure, axes = plt.subplots(
        2, len(arms), figsize=size, sharex=True, sharey="row", squeeze=False, layout="constrained"
    )
    for name in (entry for entry in COLOURS if entry in results):
        result = results[name]
        time = result.time - _all_detected(result)
        shown = (time > -0.2) & (time < 0.45)
        for arm, (top, bottom) in enumerate(axes.T):
            velocity, wanted = (data[shown, arm, axis_index] for data in (result.tool_twist, result.reference_twist))
            top.plot(time[shown], velocity, color=COLOURS[name], label=LABELS[name])
            top.plot(time[shown], wanted, "--", color=COLOURS[name], linewidth=0.9)
            bottom.plot(time[shown], result.target_acceleration[shown, arm, axis_index], color=COLOURS[name])
    axes[0, 0].set_ylabel(f"tool velocity {component} (m/s), reference dashed")
    axes[1, 0].set_ylabel(f"target acceleration {component} (m/s²)")
    for own, column in zip(arms, axes.T, strict=True):
        column[0].set_title(own.name)
        column[1].set_xlabel("time since detection" + (" for both arms (s)" if len(arms) > 1 else " (s)"))
        for axis in column:
            axis.grid(alpha=0.3)
            axis.axvline(0.0, color="0.5", linewidth=0.8)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _all_detected(result: EpisodeResult) -> float:
    """When every arm's impact had been detected, s; the end when that never happened."""
    first: dict[int, float] = {}
    for arm, event in result.events:
        first.setdefault(arm, event.time_detected)
    return max(first.values()) if len(first) == len(result.task.arms) else float(result.time[-1])


def _groups(rows: Sequence[Row], controllers: list[str], column: str) -> dict[str, dict[str, dict[str, float]]]:
    groups: dict[str, dict[str, dict[str, float]]] = {}
    for factor, name in FACTORS.items():
        values = dict.fromkeys(row[name] for row in rows)
        ordered = values if factor == "object" else sorted(values)
        groups[factor] = {
            _value_text(factor, value): {
                controller: _mean([r for r in rows if r[name] == value and r["controller"] == controller], column)
                for controller in controllers
            }
            for value in ordered
        }
    return groups


def _value_text(factor: str, value: Any) -> str:
    if factor == "displacement":
        return f"{1e3 * value:+.0f} mm" if value else "0 mm"
    return str(value + 1) if factor == "initial" else str(value)


def _share_lowest(groups: dict[str, dict[str, dict[str, float]]], *, tied: bool = False) -> float:
    """Share of groups in which the proposed controller is below every baseline, or not above any.

    Controllers that act alike up to the detection can share a run's largest value to the last bit.
    """
    cells = [means for values in groups.values() for means in values.values() if "proposed" in means]
    lowest = []
    for means in cells:
        best = min((mean for name, mean in means.items() if name in VARIANTS and name != "proposed"), default=np.inf)
        lowest.append(means["proposed"] <= best * (1.0 + 1e-9) if tied else means["proposed"] < best * (1.0 - 1e-9))
    return float(np.mean(lowest)) if lowest else float("nan")


def _jumps(rows: Sequence[Row], column: str) -> dict[str, float]:
    values = np.array(_finite(rows, column))
    over = float(np.mean(values > _LARGEST_JUMP)) if values.size else float("nan")
    return {"largest": _largest(rows, column), "mean": _mean(rows, column), "over_10_percent": over}


def _finite(rows: Sequence[Row], column: str) -> list[float]:
    values = [float(row.get(column, np.nan)) for row in rows]
    return [value for value in values if np.isfinite(value)]


def _mean(rows: Sequence[Row], column: str) -> float:
    values = _finite(rows, column)
    return float(np.mean(values)) if values else float("nan")


def _largest(rows: Sequence[Row], column: str) -> float:
    values = _finite(rows, column)
    return float(np.max(values)) if values else float("nan")
