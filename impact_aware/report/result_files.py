"""The numbers of an analysis as JSON and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.estimation.object_motion import ObjectMotion
from impact_aware.recordings.ablation import AblationGroup, AblationRow
from impact_aware.recordings.contact_check import ContactCheck
from impact_aware.recordings.limitations import Limitation, limitations
from impact_aware.recordings.object_hit import ObjectHit
from impact_aware.recordings.results import (
    Analysis,
    AnalyzedImpact,
    ArmAnalysis,
    OtherEvent,
)
from impact_aware.recordings.verdict import Verdict


def to_json(analysis: Analysis) -> dict[str, Any]:
    """An analysis as JSON knows it: SI units, joints in the model's order, null for what is not known."""
    rates = [arm.rate_hz for arm in analysis.arms if math.isfinite(arm.rate_hz)]
    return {
        "files": [str(file) for file in analysis.files],
        # Of the arm whose source is the fastest; every arm's own stands with the arm.
        "rate_hz": max(rates) if rates else None,
        **_picked(analysis, "messages", "seconds_read", "seconds", "settings", "versions", "notes"),
        "impacts": [impact_to_json(impact) for impact in analysis.impacts],
        "other_events": [_picked(event, *OtherEvent.__dataclass_fields__) for event in analysis.other_events],
        "cannot_tell": [_picked(entry, *Limitation.__dataclass_fields__) for entry in limitations(analysis)],
        "arms": [_arm_to_json(arm) for arm in analysis.arms],
        "ablation": [_group_to_json(group) for group in analysis.ablation_groups],
    }


def impact_to_json(impact: AnalyzedImpact) -> dict[str, Any]:
    """One impact without its samples."""
    velocities = {
        "before": impact.velocity_before,
        "after_predicted": impact.velocity_after_predicted,
        "after_estimated": impact.velocity_after_estimated,
    }
    estimate, first, found = impact.estimate, impact.event.joint, impact.verdict
    reference = impact.reference
    return {
        **_picked(impact, "arm", "index", "file", "label", "joint_names", "detectors", "expected", "notes", "position"),
        **_picked(impact, "cause", "evidence"),
        **_picked(impact.event, "time", "time_detected", "detector", "confidence", "residual"),
        "time_standard_error": _plain(impact.event.time_std),
        "first_joint": impact.joint_names[first] if first >= 0 else None,
        **{f"velocity_{name}": _plain(velocity) for name, velocity in velocities.items()},
        "velocity_before_error": _plain(impact.velocity_before_error),
        "velocity_after_predicted_std": _plain(impact.prediction_std),
        "velocity_after_error": None if estimate is None else _plain(estimate.standard_error),
        "verdict": _picked(found, *Verdict.__dataclass_fields__),
        "error": _plain(found.error),
        "relative_error": _plain(found.share),
        "velocity_after_true": _plain(None if impact.truth is None or reference is None else reference.after),
        **_picked(impact, "joint_error", "contact_frame", "normal_source"),
        **{f"contact_velocity_{name}": _plain(impact.contact_velocity(value)) for name, value in velocities.items()},
        "impulse_estimated": _plain(impact.impulse_estimated),
        "impulse_error": _plain(impact.impulse_error),
        "jump_error": None if estimate is None else _plain(estimate.jump_error),
        **_prediction_to_json(impact),
        "common": None if impact.common is None else _picked(impact.common, *_OF_COMMON),
        "object": _object_to_json(impact.object_hit),
        "contact_check": _check_to_json(impact.contact_check),
        "ablation": [_picked(row, *AblationRow.__dataclass_fields__) for row in impact.ablation],
    }


_OF_COMMON = ("task", "arms", "velocity_after", "object_velocity_after")
"""What only several arms at once have; the contact stands with the impact."""


def _prediction_to_json(impact: AnalyzedImpact) -> dict[str, Any]:
    """What is the same with every impact that has no prediction: nothing, and no friction."""
    prediction, used = impact.prediction, impact.used_contact
    if prediction is None:
        return {
            **dict.fromkeys(("point", "normal", "impulse", "effective_mass", "object_mass")),
            "mode": "", "friction": 0.0, "restitution": 0.0, "inertia": "",
        }  # fmt: skip
    return {
        **_picked(used, "point", "impulse", "effective_mass", "mode"),
        "inertia": prediction.inertia,
        **_picked(used, "normal", "friction", "restitution"),
        "object_mass": None if prediction.obstacle is None else prediction.obstacle.mass,
    }


def _object_to_json(hit: ObjectHit | None) -> dict[str, Any] | None:
    """What the object's track shows; null without one."""
    if hit is None:
        return None
    rest = [name for name in ObjectHit.__dataclass_fields__ if name != "motion"]
    return _picked(hit.motion, *ObjectMotion.__dataclass_fields__) | _picked(hit, *rest)


def _check_to_json(check: ContactCheck | None) -> dict[str, Any] | None:
    """The contact point that the jump shows, in the axes of its frame."""
    if check is None:
        return None
    return {
        **_picked(check, "verdict", "assumed", "distance", "distance_error", "unexplained"),
        "fitted": _picked(check.fit, "frame", "point", "along", "error_across", "error_along", "unexplained"),
    }


def impacts_csv(impacts: Iterable[AnalyzedImpact]) -> str:
    """One row per impact and joint: what belongs to the impact, then what belongs to the joint."""
    rows: list[dict[str, Any]] = []
    for impact in impacts:
        found = impact_to_json(impact)
        found |= {f"verdict_{name}": found["verdict"][name] for name in ("within", "reference")}
        for name in ("normal", "impulse"):
            found |= zip((f"{name}_{axis}" for axis in "xyz"), found[name] or (None,) * 3, strict=True)
        for joint, name in enumerate(impact.joint_names):
            own = {column: None if found[column] is None else found[column][joint] for column in _JOINT_COLUMNS}
            rows.append({**{column: found[column] for column in _IMPACT_COLUMNS}, "joint": name, **own})
    return _csv((*_IMPACT_COLUMNS, "joint", *_JOINT_COLUMNS), rows)


_IMPACT_COLUMNS = (
    "file", "arm", "index", "label", "cause", "time", "time_standard_error", "time_detected", "detector", "expected",
    "mode", "normal_x", "normal_y", "normal_z", "normal_source", "impulse_x", "impulse_y", "impulse_z",
    "effective_mass", "friction", "restitution", "inertia", "verdict_within",
    "verdict_reference", "error", "relative_error",
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
    found = _picked(
        arm, "arm", "file", "topic", "robot", "base_frame", "joint_names", "messages", "samples", "rate_hz",
        "first_time", "last_time", "quality", "smallest_jump", "notes",
    )  # fmt: skip
    return {**found, "impacts": len(arm.impacts), "other_events": len(arm.other_events)}


def _group_to_json(group: AblationGroup) -> dict[str, Any]:
    found = _picked(group, *AblationGroup.__dataclass_fields__)
    return {"impacts": found.pop("count"), **found}


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of what spreadsheets take for formulas."""


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
    if isinstance(value, str) and value.startswith(_FORMULA):
        # A spreadsheet would compute it, and a name in a recording is whatever its author wrote.
        return f"'{value}"
    return "" if value is None else value


def _picked(found: Any, *names: str) -> dict[str, Any]:
    """Some attributes by their names."""
    return {name: _plain(getattr(found, name)) for name in names}


def _plain(value: Any) -> Any:
    """As JSON knows it; null for what is not finite."""
    if isinstance(value, np.ndarray):
        return [_plain(entry) for entry in value.tolist()]
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
