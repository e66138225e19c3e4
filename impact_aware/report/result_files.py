"""The numbers of an analysis as JSON and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from impact_aware.arrays import Array
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
    plain = {
        name: getattr(impact, name)
        for name in (
            "arm", "index", "time", "time_detected", "time_standard_error", "detector", "confidence", "error",
            "relative_error", "contact_frame", "normal_source", "effective_mass", "mode", "friction", "restitution",
            "inertia", "object_mass", "expected", "label",
        )
    }  # fmt: skip
    arrays = {
        name: getattr(impact, name)
        for name in (
            "residual", "position", "velocity_before", "velocity_before_error", "velocity_after_predicted",
            "velocity_after_predicted_std", "velocity_after_estimated", "velocity_after_error", "joint_error", "point",
            "normal", "contact_velocity_before", "contact_velocity_after_predicted",
            "contact_velocity_after_estimated", "impulse", "impulse_estimated",
        )
    }  # fmt: skip
    return {
        **{name: _finite(value) for name, value in plain.items()},
        **{name: _list(value) for name, value in arrays.items()},
        "file": str(impact.file),
        "first_joint": impact.joint_names[impact.first_joint] if impact.first_joint >= 0 else None,
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


def impacts_csv(impacts: Iterable[AnalyzedImpact]) -> str:
    """One row per impact and joint: every joint's velocities, beside what is told once per impact."""
    header = (
        "file", "arm", "index", "label", "time", "time_standard_error", "time_detected", "detector", "expected", "mode",
        "normal_x", "normal_y", "normal_z", "normal_source", "impulse_x", "impulse_y", "impulse_z", "effective_mass",
        "friction", "restitution", "inertia", "error", "relative_error", "joint", "position", "velocity_before",
        "velocity_before_error", "velocity_after_predicted", "velocity_after_predicted_std",
        "velocity_after_estimated", "velocity_after_error", "joint_error",
    )  # fmt: skip
    rows = []
    for impact in impacts:
        once = (
            impact.file, impact.arm, impact.index, impact.label, impact.time, impact.time_standard_error,
            impact.time_detected, impact.detector, impact.expected, impact.mode, *_three(impact.normal),
            impact.normal_source, *_three(impact.impulse), impact.effective_mass, impact.friction, impact.restitution,
            impact.inertia, impact.error, impact.relative_error,
        )  # fmt: skip
        columns = (
            impact.position, impact.velocity_before, impact.velocity_before_error, impact.velocity_after_predicted,
            impact.velocity_after_predicted_std, impact.velocity_after_estimated, impact.velocity_after_error,
            impact.joint_error,
        )  # fmt: skip
        for joint, name in enumerate(impact.joint_names):
            rows.append((*once, name, *(None if column is None else column[joint] for column in columns)))
    return _csv(header, rows)


def ablation_csv(groups: Iterable[AblationGroup]) -> str:
    """One row per label, inertia, friction and joint."""
    header = (
        "label", "robot", "inertia", "friction", "impacts", "error_mean", "error_max", "joint", "joint_error_mean",
        "joint_error_max", "velocity_before_mean", "velocity_after_mean",
    )  # fmt: skip
    rows = [
        (
            group.label, group.robot, group.inertia, group.friction, group.count, group.error_mean, group.error_max,
            name, group.joint_error_mean[joint], group.joint_error_max[joint], group.velocity_before_mean[joint],
            group.velocity_after_mean[joint],
        )
        for group in groups
        for joint, name in enumerate(group.joint_names)
    ]  # fmt: skip
    return _csv(header, rows)


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


def _csv(header: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, float | np.floating):
        # A nanosecond of a stamp since 1970 takes 19 digits; a double has 17.
        return repr(float(value)) if math.isfinite(value) else ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value


def _three(value: Array | None) -> tuple[float | None, ...]:
    return (None, None, None) if value is None else tuple(value.tolist())


def _list(values: Array | None) -> list[float | None] | None:
    return None if values is None else [_finite(value) for value in values.tolist()]


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
