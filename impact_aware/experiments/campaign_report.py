"""What a campaign shows in numbers: mean peaks by group and controller, success rates, causes of failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from impact_aware.control import VARIANTS
from impact_aware.experiments.campaign import Row
from impact_aware.experiments.campaign_plan import CONTROLLERS

Groups = dict[str, dict[str, dict[str, float]]]
"""Factor -> value -> controller -> mean."""

FACTORS = {"object": "object", "initial": "start", "displacement": "displacement"}
"""What the runs are grouped by -> its column."""

LABELS = {
    "proposed": "proposed",
    "no_rs": "no RS",
    "no_interim": "no interim mode",
    "no_impact_map": "no impact map",
    "proposed_completion": "proposed, completion",
}

_LARGEST_JUMP = 0.10
_PEAKS = {"": "peak", "_linear": "peak_linear", "_linear_after": "peak_linear_after"}


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
        `object_prediction` (`error` against the true velocity, m/s, its `share` of that and of the `closing` speed, and
        `difference` from the direct prediction, m/s; means),
        `failures` (cause -> runs); `first_contact` (what touched first -> runs); and `runs`.
    """
    own = {name: [row for row in rows if row["controller"] == name] for name in CONTROLLERS}
    own = {name: found for name, found in own.items() if found}
    summary: dict[str, Any] = {}
    for suffix, column in _PEAKS.items():
        groups = _groups(rows, list(own), column)
        summary[f"groups{suffix}"] = groups
        summary[f"proposed_lowest_in{suffix}"] = _share_lowest(groups)
        summary[f"proposed_lowest_or_tied_in{suffix}"] = _share_lowest(groups, tied=True)
    for column in (*_PEAKS.values(), "time_to_track_s", "slip_m", "goal_error_m"):
        summary[column] = {name: _mean(found, column) for name, found in own.items()}
    for column in ("torque_jump", "torque_swing"):
        summary[column] = {name: _jumps(found, column) for name, found in own.items()}
    return summary | {
        "success_rate": {name: float(np.mean([row["success"] for row in found])) for name, found in own.items()},
        "never_tracked": {
            name: int(np.isposinf([float(row.get("time_to_track_s", np.nan)) for row in found]).sum())
            for name, found in own.items()
        },
        "object_prediction": {
            "error": _mean(rows, "object_prediction_error"),
            "share": _mean(rows, "object_prediction_share"),
            "closing": _mean(rows, "object_prediction_closing"),
            "difference": _mean(rows, "object_prediction_difference"),
            "largest_difference": _largest(rows, "object_prediction_difference"),
        },
        "detection_delay_ms": {
            "mean": 1e3 * _mean(rows, "detection_delay_s"),
            "largest": 1e3 * _largest(rows, "detection_delay_s"),
        },
        "false_detections": int(sum(_finite(rows, "false_detections"))),
        "prediction_error": _mean(rows, "prediction_error"),
        "failures": {name: dict(Counter(r["cause"] for r in found if not r["success"])) for name, found in own.items()},
        "first_contact": dict(Counter(str(row.get("first_contact") or "nothing") for row in rows)),
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
    first = summary["first_contact"]
    shown = ", ".join(f"{name} in {count} of {sum(first.values())} runs" for name, count in first.items())
    lines.append(f"{'first contact':<26}{shown}")
    return "\n".join(lines)


def _groups(rows: Sequence[Row], controllers: list[str], column: str) -> Groups:
    groups: Groups = {}
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


def _share_lowest(groups: Groups, *, tied: bool = False) -> float:
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
    return max(_finite(rows, column), default=float("nan"))
