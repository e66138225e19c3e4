"""What a recording can't show, each with its reason; missing and assumed figures are reported as such."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from impact_aware.estimation.contact_point import TELLING
from impact_aware.estimation.registry import BOTH_SIDES
from impact_aware.recordings.input_faults import span_text
from impact_aware.recordings.results import Analysis, AnalyzedImpact, ArmAnalysis

SHORT = 0.1
"""Window after an impact below which little is known about the velocity after, s."""

OF_BOTH_SIDES = 0.07
"""Window after an impact below which `both_sides` knows little about the velocity after, s."""

BRIEF = 0.15
"""Length of a recording below which no impact is reliably detected, s."""

SLOW = 500.0
"""Rate below which an impact lies between two samples, Hz."""


@dataclass(frozen=True)
class Limitation:
    """One quantity that a recording can't show.

    Attributes:
        what: The quantity.
        reason: Why it can't be shown.
        file: Name of the recording.
        arm: Name of the arm; empty without one.
        impacts: Impacts of the arm that it concerns, counted as in the report; empty for all.
    """

    what: str
    reason: str
    file: str
    arm: str
    impacts: tuple[int, ...] = ()


def limitations(analysis: Analysis) -> tuple[Limitation, ...]:
    """Limitations of all recordings of an analysis, arm by arm."""
    return tuple(entry for arm in analysis.arms for entry in _of_arm(arm))


def _of_arm(arm: ArmAnalysis) -> Iterator[Limitation]:
    def entry(what: str, reason: str, chosen: Sequence[AnalyzedImpact] = ()) -> Limitation:
        # An entry that holds for every impact is about the recording.
        some = len(chosen) < len(arm.impacts)
        return Limitation(what, reason, arm.file.name, arm.arm, tuple(i.index for i in chosen) if some else ())

    if arm.last_time - arm.first_time < BRIEF:
        reason = f"the recording is {arm.last_time - arm.first_time:.2f} s long"
        yield entry("whether there was an impact", f"{reason}: both sides of one are looked at")
    if arm.quality:
        more = "whether there were more impacts" if arm.impacts else "whether there was an impact"
        yield entry(more, arm.quality)
    if arm.gaps:
        longest, first = max(end - begin for begin, end in arm.gaps), arm.gaps[0][0]
        several = f"{len(arm.gaps)} gaps of up to" if len(arm.gaps) > 1 else "a gap of"
        yield entry(
            "whether there was an impact while no samples came",
            f"{several} {span_text(longest)} in the motion, from {first:.3f} s on, may hide a jump of the velocity",
        )
    if arm.rate_hz < SLOW:
        period = 1e3 / arm.rate_hz
        reason = f"samples come at {arm.rate_hz:.0f} Hz, {period:.1f} ms apart: what is quicker is between two of them"
        yield entry("oscillations of the joints, and contacts within a few samples of each other", reason)
    if math.isfinite(arm.smallest_jump):
        reason = "the jump must exceed the noise and the largest change by a command within one sample"
        yield entry(f"impacts in which no joint jumps by {arm.smallest_jump:.2g} rad/s", reason)
    if not arm.impacts:
        return
    if arm.model is None:
        yield entry(
            "what a model predicts, masses and impulses", "no robot is known; --robot takes a profile or a URDF"
        )
    elif arm.model.known_inertia("M+B_theta") == "M":
        reason = f"the apparent motor inertia of {arm.robot} is not known: every mass and impulse is that of the links"
        yield entry("impulses, masses and predictions with the motors counted in", reason)
    for what, reason, test in _PER_IMPACT:
        chosen = [impact for impact in arm.impacts if test(impact)]
        if chosen:
            yield entry(what, reason, chosen)
    yield from _assumed(arm, entry)


def _assumed(arm: ArmAnalysis, entry: Callable[[str, str], Limitation]) -> Iterator[Limitation]:
    predicted = [impact for impact in arm.impacts if impact.prediction is not None]
    if not predicted:
        return
    for name in ("friction", "restitution"):
        if all(any(word.startswith(name) for word in impact.assumed) for impact in predicted):
            yield entry(
                f"the {name}",
                f"none was given: 0 was assumed; --{name} gives it, impact-aware identify {name} finds it",
            )
    if all("a fixed surface" in impact.assumed and impact.object_hit is None for impact in predicted):
        yield entry("whether what was hit gave way", "no --object-mass: a fixed surface was assumed")


def _is_short(impact: AnalyzedImpact) -> bool:
    """Whether the window after an impact is short for the method of its estimate."""
    estimate = impact.estimate
    if estimate is None:
        return False
    return estimate.window[1] - impact.time < (OF_BOTH_SIDES if estimate.method == BOTH_SIDES else SHORT)


def _untold(impact: AnalyzedImpact, *, one_point: bool) -> bool:
    check = impact.contact_check
    return check is not None and check.verdict == "cannot_tell" and check.fit.one_point == one_point


_PER_IMPACT = (
    (
        "the velocity after",
        "too few samples follow before the recording ends or something else happens",
        lambda impact: impact.estimate is None,
    ),
    (
        "the velocity after as well as elsewhere",
        f"less than {1e3 * SHORT:.0f} ms, {1e3 * OF_BOTH_SIDES:.0f} ms for {BOTH_SIDES}, follow until the recording "
        "ends or something else happens",
        _is_short,
    ),
    (
        "the velocity after for sure",
        "the fit after the impact ended on a bound, so that its error may be larger than stated",
        lambda impact: impact.estimate is not None and not impact.estimate.settled,
    ),
    (
        "whether the prediction is right",
        "the normal was taken from the jump itself: the comparison is no test; --normal or --surface makes it one",
        lambda impact: impact.normal_source == "jump",
    ),
    (
        "whether the contact point is right",
        f"one jump shows it across its impulse with a standard error of more than {100.0 * TELLING:.0f} cm; identify "
        "contact-point takes several hits",
        lambda impact: _untold(impact, one_point=True),
    ),
    (
        "where the contact point is",
        "no point of the frame explains the jump, and no other link does: the inertia may be another",
        lambda impact: _untold(impact, one_point=False),
    ),
    (
        "whether the palms touched as the task has them",
        "palms hit with faces: no single contact point is tested",
        lambda impact: impact.common is not None,
    ),
    (
        "the restitution to within 0.1",
        "two standard errors of the object's track and of the joints, over the approach speed, are more",
        lambda impact: (
            impact.object_hit is not None
            and impact.object_hit.restitution_error is not None
            and impact.object_hit.restitution_error > 0.05
        ),
    ),
    (
        "restitution, and what the object did",
        "there is no track of the object (columns object_position, --object-topic, --object-frame), or too short a one",
        lambda impact: impact.object_hit is None,
    ),
)
