"""What the report shows, as texts and rows: the template only arranges them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.recordings.limitations import limitations
from impact_aware.recordings.results import Analysis, AnalyzedImpact, ArmAnalysis, CommonImpact
from impact_aware.recordings.verdict import CANNOT_TELL, ESTIMATE, NO, PLANT, YES, Verdict, decided
from impact_aware.report.hit_facts import UNKNOWN, Fact, contact_facts, number_text, object_facts


def short_names(files: Sequence[Path]) -> dict[Path, str]:
    """Names of recordings with as many parent folders as make them distinct."""
    paths = list(dict.fromkeys(files))
    depth = max((len(path.parts) for path in paths), default=1)
    for count in range(1, depth + 1):
        names = ["/".join(path.parts[-count:]) for path in paths]
        if len(set(names)) == len(names):
            break
    return dict(zip(paths, names, strict=True)) if paths else {}


def impact_view(number: int, impact: AnalyzedImpact, names: Mapping[Path, str]) -> SimpleNamespace:
    """The texts of one impact, whose `number` counts over the whole report; `names` are those of the recordings."""
    (speed, error), found, used = impact.approach_speed, impact.verdict, impact.used_contact
    size = None if impact.prediction is None or used is None else float(np.linalg.norm(used.impulse))
    where = f" of {impact.arm}" if impact.arm else ""
    return SimpleNamespace(
        number=number,
        anchor=f"impact-{number}",
        heading=f"Impact {number}{where} at {impact.time:.4f} s",
        arm=impact.arm or UNKNOWN,
        file=names.get(impact.file, impact.file.name),
        time=f"{impact.time:.4f}{_plus_minus(impact.event.time_std, 4)}",
        joint=_joint_name(impact, impact.event.joint),
        approach=number_text(speed, 3) + _plus_minus(error, 3),
        within=_WITHIN[found.within],
        error=error_text(found),
        relative=_percent(found.share),
        mass=number_text(None if used is None else used.effective_mass, 2),
        impulse=number_text(size, 3),
        mode=_mode(impact),
        expected={True: "yes", False: "no", None: UNKNOWN}[impact.expected],
        label=impact.label or "",
        facts=tuple(_facts(impact, names)),
        joints=tuple(_joint_rows(impact)),
        simulated=impact.truth is not None,
        variants=tuple(_variant_rows(impact)),
        notes=impact.notes,
    )


def arm_view(arm: ArmAnalysis, numbers: Mapping[int, int], shown: int, names: Mapping[Path, str]) -> SimpleNamespace:
    """The texts of one arm; a tick is where an impact stands on the recording's bar, in percent of its length.

    Args:
        arm: The arm.
        numbers: `id` of an impact -> its number in the report.
        shown: Impacts up to this number have a section to jump to.
        names: Of the recordings.
    """
    length = arm.last_time - arm.first_time
    ticks = []
    for impact in arm.impacts:
        number = numbers[id(impact)]
        share = (impact.time - arm.first_time) / length if length > 0.0 else 0.5
        anchor = f"impact-{number}" if number <= shown else "impacts"
        place, words = f"{100.0 * min(max(share, 0.0), 1.0):.2f}", f"impact {number}, {impact.time:.4f} s"
        ticks.append(SimpleNamespace(place=place, anchor=anchor, words=words))
    return SimpleNamespace(
        file=names.get(arm.file, arm.file.name),
        arm=arm.arm or UNKNOWN,
        topic=arm.topic or "table",
        robot=arm.robot or UNKNOWN,
        messages=f"{arm.messages:,}".replace(",", "\u202f"),
        samples=f"{arm.samples:,}".replace(",", "\u202f"),
        rate=number_text(arm.rate_hz, 0),
        span=number_text(length, 2),
        impacts=len(arm.impacts),
        quality=arm.quality or "good",
        poor=arm.quality is not None,
        notes=tuple(note for note in arm.notes if note != arm.quality),
        ticks=tuple(ticks),
    )


def headline(analysis: Analysis) -> tuple[Fact, ...]:
    """The few figures that stand at the top: what was read, and the verdicts.

    A share of the jump stands there only where no input of a prediction is known less well than that.
    """
    impacts = analysis.impacts
    messages = f"{analysis.messages:,}".replace(",", "\u202f")
    facts = [
        Fact("impacts" if len(impacts) != 1 else "impact", str(len(impacts))),
        Fact("recordings" if len(analysis.files) != 1 else "recording", str(len(analysis.files))),
        Fact("joint-state messages", messages),
    ]
    found = [impact.verdict for impact in impacts]
    if len(found) == 1:
        facts.append(Fact("prediction within the uncertainty of the estimate", _WITHIN[found[0].within]))
        if found[0].error is not None:
            facts.append(Fact(f"rad/s off {_REFERENCES[found[0].reference]}", error_text(found[0])))
    elif found:
        counts = ", ".join(
            f"{sum(one.within == name for one in found)} {words}"
            for name, words in _WITHIN.items()
            if any(one.within == name for one in found)
        )
        facts.append(Fact("predictions within the uncertainty of the estimate", counts))
    shares = [one.share for one in found if one.share is not None]
    if shares and len(shares) == len(found):
        words = "of the jump, prediction error" if len(shares) == 1 else "of the jump, median prediction error"
        facts.append(Fact(words, _percent(float(np.median(shares)))))
    return tuple(facts)


def error_text(found: Verdict) -> str:
    """Error of a prediction, rad/s, with its interval where that is known; the sign for unknown without one."""
    if found.error is None:
        return UNKNOWN
    return f"{found.error:.3f}" + ("" if found.interval is None else " ({:.3f} to {:.3f})".format(*found.interval))


_WITHIN = {YES: "yes", NO: "no", CANNOT_TELL: "can't tell"}
_REFERENCES = {PLANT: "the simulator's truth", ESTIMATE: "the estimate"}


def limitation_rows(analysis: Analysis) -> tuple[Fact, ...]:
    """What the recordings can't tell, and why."""
    rows = []
    for entry in limitations(analysis):
        which = f"impact {', '.join(map(str, entry.impacts))}" if entry.impacts else ""
        rows.append(Fact(entry.what + _where(analysis, entry.file, entry.arm, which), entry.reason))
    return tuple(rows)


def _where(analysis: Analysis, file: str, arm: str, which: str = "") -> str:
    """File of several, arm and impacts in brackets, as far as they are needed."""
    words = ", ".join(filter(None, (file if len(analysis.files) > 1 else "", arm, which)))
    return f" ({words})" if words else ""


MOST_EVENTS = 200
"""Events that are no impacts, of all arms, that a page lists; the JSON has them all."""


def event_rows(analysis: Analysis) -> tuple[Fact, ...]:
    """Finds that are no impacts: when and what, and what speaks for it."""
    rows = []
    for event in analysis.other_events[:MOST_EVENTS]:
        name = f"{event.time:.4f} s ± {1e3 * event.time_standard_error:.1f} ms, {event.cause.replace('_', ' ')}"
        rows.append(Fact(name + _where(analysis, event.file.name, event.arm), event.evidence))
    left = len(analysis.other_events) - len(rows)
    return (*rows, Fact(f"{left} more", "see analysis.json")) if left else tuple(rows)


def settings_rows(settings: Mapping[str, Any]) -> tuple[Fact, ...]:
    """Options with their values, in the order given."""
    return tuple(Fact(name, _plain(value)) for name, value in settings.items())


def _plain(value: Any) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _facts(impact: AnalyzedImpact, names: Mapping[Path, str]) -> Iterable[Fact]:
    event, estimate = impact.event, impact.estimate
    yield from _verdict_facts(impact.verdict)
    yield Fact("recording", names.get(impact.file, impact.file.name))
    yield Fact("time", f"{event.time:.5f} s{_plus_minus(event.time_std * 1e3, 2, 'ms')}")
    found = event.detector + "".join(f", {name}" for name in impact.detectors if name != event.detector)
    late = 1e3 * (event.time_detected - event.time)
    yield Fact("found by", f"{found}; detected {late:.1f} ms later; confidence {event.confidence:.2f}")
    if impact.evidence:
        yield Fact("cause", f"{impact.cause.replace('_', ' ')}: {impact.evidence}")
    yield Fact("first joint", _joint_name(impact, event.joint))
    if impact.contact_frame:
        yield Fact("contact frame", impact.contact_frame)
    if impact.prediction is not None:
        yield from _prediction_facts(impact, impact.prediction)
    yield from object_facts(impact.object_hit)
    if estimate is not None:
        start, end = (1e3 * (edge - event.time) for edge in estimate.window)
        words = f"{estimate.method}, {estimate.samples} samples from {start:.0f} to {end:.0f} ms"
        yield Fact("estimated with", words if estimate.settled else f"{words}; the fit ended on a bound")
    if impact.expected is not None:
        yield Fact("expected", "yes: a recorded prediction announced it" if impact.expected else "no")


def _verdict_facts(found: Verdict) -> Iterable[Fact]:
    """Answer, error and assumptions of the comparison with what happened."""
    answer = _WITHIN[found.within]
    if found.distance is not None:
        answer += f", {found.distance:.1f} standard errors off per joint"
    yield Fact("prediction within the uncertainty of the estimate", f"{answer}: {found.reason}".removesuffix(": "))
    if found.error is not None:
        share = "" if found.share is None else f", {_percent(found.share)} of the jump"
        source = f"{_REFERENCES[found.reference]}{found.live_text}"
        yield Fact("prediction off by", f"{error_text(found)} rad/s{share}, from {source}")
    yield Fact("assumed", ", ".join(found.assumed) or "nothing")


def _prediction_facts(impact: AnalyzedImpact, prediction: ImpactPrediction) -> Iterable[Fact]:
    used, shown = impact.used_contact, impact.impulse_estimated
    assert used is not None
    yield Fact("contact point", f"{_vector(used.point, 4)} m")
    yield Fact("normal", f"{_vector(used.normal, 3)} from the {_SOURCES.get(impact.normal_source, 'input')}")
    if impact.common is None:
        speed, error = impact.approach_speed
        yield Fact("approach speed", f"{speed:.3f}{_plus_minus(error, 3)} m/s along the normal")
    yield Fact("effective mass", f"{used.effective_mass:.2f} kg along the normal")
    if prediction.obstacle is not None:
        yield Fact("object hit", f"{prediction.obstacle.mass:.2f} kg, free")
    yield from _common_facts(impact.common)
    yield Fact("impulse, predicted", _impulse(used.impulse))
    if shown is not None and impact.impulse_error is not None:
        yield Fact("impulse, from the jump", f"{_impulse(shown)} ± {_vector(impact.impulse_error, 3)}")
    yield from contact_facts(impact.contact_check)
    assumed = f"{prediction.inertia}, friction {used.friction:g}, restitution {used.restitution:g}"
    yield Fact("predicted with", f"{assumed}: {used.mode}")


def _mode(impact: AnalyzedImpact) -> str:
    if impact.common is not None:
        return f"with {', '.join(impact.common.arms)}" if impact.common.arms else "as a palm"
    return UNKNOWN if impact.prediction is None else impact.prediction.mode


def _common_facts(common: CommonImpact | None) -> Iterable[Fact]:
    if common is None:
        return
    if common.arms:
        yield Fact("predicted together with", f"arm {', '.join(common.arms)}, which hit at once, by task {common.task}")
    else:
        yield Fact("predicted as", f"a palm that hits with all its corners, by task {common.task}")
    yield Fact("object after, predicted", f"{_vector(common.object_velocity_after, 3)} m/s")


_SOURCES = {
    "option": "settings",
    "config": "surface file",
    "tf": "TF frame",
    "prediction": "recorded prediction",
    "task": "task",
    "jump": "jump itself",
}


def _joint_rows(impact: AnalyzedImpact) -> Iterable[SimpleNamespace]:
    errors = impact.joint_error
    largest = -1 if errors is None or not np.any(np.isfinite(errors)) else int(np.nanargmax(errors))
    for joint, name in enumerate(impact.joint_names):
        yield SimpleNamespace(
            name=name,
            before=_of(impact.velocity_before, joint) + _plus_minus(float(impact.velocity_before_error[joint]), 4),
            predicted=_of(impact.velocity_after_predicted, joint)
            + _plus_minus(None if impact.prediction_std is None else float(impact.prediction_std[joint]), 4),
            estimated=_of(impact.velocity_after_estimated, joint),
            estimated_error=_of(None if impact.estimate is None else impact.estimate.standard_error, joint),
            truth=_of(None if impact.truth is None or impact.reference is None else impact.reference.after, joint),
            error=_of(errors, joint),
            residual=_of(impact.event.residual, joint, 2),
            largest=joint == largest,
        )


def _variant_rows(impact: AnalyzedImpact) -> Iterable[SimpleNamespace]:
    reference = impact.reference
    rows = [(row.inertia, row.velocity_after) for row in impact.ablation]
    best = "" if reference is None else decided(rows, reference, impact.prediction_std)
    least = min((row.error for row in impact.ablation if row.inertia == best), default=math.inf)
    for row in impact.ablation:
        yield SimpleNamespace(
            inertia=row.inertia,
            friction=f"{row.friction:g}",
            error=number_text(row.error, 4),
            error_degrees=number_text(math.degrees(row.error), 2),
            relative=_percent(row.relative_error),
            best=row.inertia == best and row.error == least,
        )


def _joint_name(impact: AnalyzedImpact, joint: int) -> str:
    return impact.joint_names[joint] if 0 <= joint < len(impact.joint_names) else UNKNOWN


def _impulse(vector: Array) -> str:
    return f"{float(np.linalg.norm(vector)):.3f} N s, {_vector(vector, 3)}"


def _vector(vector: Array, digits: int) -> str:
    return "(" + ", ".join(number_text(float(entry), digits) for entry in vector) + ")"


def _of(values: Array | None, joint: int, digits: int = 4) -> str:
    return UNKNOWN if values is None else number_text(float(values[joint]), digits)


def _percent(value: float | None) -> str:
    return UNKNOWN if value is None or not math.isfinite(value) else f"{100.0 * value:.1f} %"


def _plus_minus(value: float | None, digits: int, unit: str = "") -> str:
    """A standard error behind its figure, where it is known."""
    known = value is not None and math.isfinite(value) and value > 0.0
    return f" ± {value:.{digits}f} {unit}".rstrip() if known else ""
