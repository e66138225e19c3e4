"""The numbers of an analysis as JSON and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from typing import Any

from impact_aware.arrays import Array
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.recordings.results import AblationGroup, Analysis, AnalyzedImpact, ArmAnalysis


def to_json(analysis: Analysis) -> dict[str, Any]:
    """An analysis as JSON knows it: SI units, joints in the model's order, null for what is not known."""
    rates = [arm.rate_hz for arm in analysis.arms if math.isfinite(arm.rate_hz)]
    return {
        "files": [str(file) for file in analysis.files],
        "messages": analysis.messages,
        # Of the arm whose source is the fastest; every arm's own stands with the arm.
        "rate_hz": max(rates) if rates else None,
        "seconds_read": analysis.seconds_read,
        "seconds": analysis.seconds,
        "impacts": [impact_to_json(impact) for impact in analysis.impacts],
        "arms": [_arm_to_json(arm) for arm in analysis.arms],
        "ablation": [_group_to_json(group) for group in analysis.ablation_groups],
        "settings": analysis.settings,
        "versions": analysis.versions,
        "notes": list(analysis.notes),
    }


def impact_to_json(impact: AnalyzedImpact) -> dict[str, Any]:
    """One impact without its samples."""
    event, prediction = impact.event, impact.prediction
    return {
        "arm": impact.arm,
        "index": impact.index,
        "time": _finite(event.time),
        "time_detected": _finite(event.time_detected),
        "time_standard_error": _finite(event.time_std),
        "detector": event.detector,
        "confidence": _finite(event.confidence),
        "residual": _list(event.residual),
        "position": _list(impact.position),
        "velocity_before": _list(impact.velocity_before),
        "velocity_before_error": _list(impact.velocity_before_error),
        "velocity_after_predicted": _list(impact.velocity_after_predicted),
        "velocity_after_predicted_std": _list(impact.prediction_std),
        "velocity_after_estimated": _list(impact.velocity_after_estimated),
        "velocity_after_error": None if impact.estimate is None else _list(impact.estimate.standard_error),
        "error": _finite(impact.error),
        "joint_error": _list(impact.joint_error),
        "relative_error": _finite(impact.relative_error),
        "contact_frame": impact.contact_frame,
        "normal_source": impact.normal_source,
        "contact_velocity_before": _list(impact.contact_velocity(impact.velocity_before)),
        "contact_velocity_after_predicted": _list(impact.contact_velocity(impact.velocity_after_predicted)),
        "contact_velocity_after_estimated": _list(impact.contact_velocity(impact.velocity_after_estimated)),
        "impulse_estimated": _list(impact.impulse_estimated),
        **_prediction_to_json(prediction),
        "expected": impact.expected,
        "label": impact.label,
        "file": str(impact.file),
        "first_joint": impact.joint_names[event.joint] if event.joint >= 0 else None,
        "joint_names": list(impact.joint_names),
        "detectors": list(impact.detectors),
        "ablation": [
            {
                "inertia": row.inertia,
                "friction": row.friction,
                "velocity_after": _list(row.velocity_after),
                "joint_error": _list(row.joint_error),
                "error": _finite(row.error),
                "relative_error": _finite(row.relative_error),
            }
            for row in impact.ablation
        ],
        "notes": list(impact.notes),
    }


def _prediction_to_json(prediction: ImpactPrediction | None) -> dict[str, Any]:
    """What is the same with every impact that has no prediction: nothing, and no friction."""
    if prediction is None:
        return {
            **dict.fromkeys(("point", "normal", "impulse", "effective_mass", "object_mass")),
            "mode": "", "friction": 0.0, "restitution": 0.0, "inertia": "",
        }  # fmt: skip
    return {
        "point": _list(prediction.point),
        "normal": _list(prediction.contact.normal),
        "impulse": _list(prediction.impulse),
        "effective_mass": _finite(prediction.effective_mass),
        "object_mass": None if prediction.obstacle is None else prediction.obstacle.mass,
        "mode": prediction.mode,
        "friction": prediction.contact.friction,
        "restitution": prediction.contact.restitution,
        "inertia": prediction.inertia,
    }


def impacts_csv(impacts: Iterable[AnalyzedImpact]) -> str:
    """One row per impact and joint: what belongs to the impact, then what belongs to the joint."""
    rows: list[dict[str, Any]] = []
    for impact in impacts:
        found = impact_to_json(impact)
        for name in ("normal", "impulse"):
            found |= zip((f"{name}_{axis}" for axis in "xyz"), found[name] or (None,) * 3, strict=True)
        for joint, name in enumerate(impact.joint_names):
            own = {column: None if found[column] is None else found[column][joint] for column in _JOINT_COLUMNS}
            rows.append({**{column: found[column] for column in _IMPACT_COLUMNS}, "joint": name, **own})
    return _csv((*_IMPACT_COLUMNS, "joint", *_JOINT_COLUMNS), rows)


_IMPACT_COLUMNS = (
    "file", "arm", "index", "label", "time", "time_standard_error", "time_detected", "detector", "expected", "mode",
    "normal_x", "normal_y", "normal_z", "normal_source", "impulse_x", "impulse_y", "impulse_z", "effective_mass",
    "friction", "restitution", "inertia", "error", "relative_error",
)  # fmt: skip

_JOINT_COLUMNS = (
    "position", "velocity_before", "velocity_before_error", "velocity_after_predicted", "velocity_after_predicted_std",
    "velocity_after_estimated", "velocity_after_error", "joint_error",
)  # fmt: skip


def ablation_csv(groups: Iterable[AblationGroup]) -> str:
    """One row per label, inertia, friction and joint."""
    once = ("label", "robot", "inertia", "friction", "impacts", "error_mean", "error_max")
    own = ("joint_error_mean", "joint_error_max", "velocity_before_mean", "velocity_after_mean")
    rows: list[dict[str, Any]] = []
    for found in map(_group_to_json, groups):
        for joint, name in enumerate(found["joint_names"]):
            per_joint = {column: found[column][joint] for column in own}
            rows.append({**{column: found[column] for column in once}, "joint": name, **per_joint})
    return _csv((*once, "joint", *own), rows)


def _arm_to_json(arm: ArmAnalysis) -> dict[str, Any]:
    return {
        "arm": arm.arm,
        "file": str(arm.file),
        "topic": arm.topic,
        "robot": arm.robot,
        "base_frame": arm.base_frame,
        "joint_names": list(arm.joint_names),
        "messages": arm.messages,
        "samples": arm.samples,
        "rate_hz": _finite(arm.rate_hz),
        "first_time": _finite(arm.first_time),
        "last_time": _finite(arm.last_time),
        "impacts": len(arm.impacts),
        "quality": arm.quality,
        "drops": arm.drops,
        "notes": list(arm.notes),
    }


def _group_to_json(group: AblationGroup) -> dict[str, Any]:
    return {
        "label": group.label,
        "robot": group.robot,
        "joint_names": list(group.joint_names),
        "inertia": group.inertia,
        "friction": group.friction,
        "impacts": group.count,
        "error_mean": group.error_mean,
        "error_max": group.error_max,
        **{
            name: _list(getattr(group, name))
            for name in ("joint_error_mean", "joint_error_max", "velocity_before_mean", "velocity_after_mean")
        },
    }


def _csv(header: tuple[str, ...], rows: Iterable[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, header, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        # Every digit: a nanosecond of a stamp since 1970 takes more than a double has.
        return repr(float(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value


def _list(values: Array | None) -> list[float | None] | None:
    return None if values is None else [_finite(value) for value in values.tolist()]


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
