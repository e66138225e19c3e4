"""What `identify contact-point --fit` says about normal and friction of the surface."""

from __future__ import annotations

import math
from typing import Any

from impact_aware.estimation.contact_point import TELLING
from impact_aware.estimation.contact_surface import SEVERAL, ContactSurfaceFit


def surface_as_text(fit: dict[str, Any]) -> list[str]:
    """The lines for people; a figure that the jumps don't tell is not shown."""
    lines = []
    if 0.0 < fit["offset_error"] <= TELLING:
        shown = " ".join(f"{value:.4f}" for value in fit["offset"])
        lines.append(f"  with surface    --offset {shown}   standard error {100.0 * fit['offset_error']:.2f} cm")
    if fit["normal_told"]:
        shown = " ".join(f"{value:.4f}" for value in fit["normal"])
        lines.append(f"  normal          {shown}   +- {math.degrees(fit['normal_error']):.1f} deg, from the surface")
    elif "normal" in fit["fitted"]:
        lines.append("  normal          not determined")
    if fit["friction_told"]:
        lines.append(f"  friction        {fit['friction']:.3f} +- {fit['friction_error']:.3f}")
    elif "friction" in fit["fitted"]:
        # Around a normal that is not known an impulse leans by nothing.
        known = "normal" not in fit["fitted"] or fit["normal_told"]
        bound = f"; at least {fit['friction_at_least']:.3f}" if known else ""
        lines.append(f"  friction        not determined{bound}")
    return lines


def surface_notes(fit: ContactSurfaceFit, point_fitted: bool, friction: float) -> list[str]:
    """Why something is not told, and what was assumed."""
    notes = []
    slides = "slide" in fit.modes
    if "normal" in fit.fitted and not fit.normal_told:
        notes.append(
            f"the normal is not determined: its standard error is {math.degrees(fit.normal_error):.0f} deg; "
            + _missing(fit, point_fitted)
        )
    if "friction" in fit.fitted and not fit.friction_told:
        reason = _missing(fit, point_fitted) if slides else "every hit sticks, and a larger friction explains it too"
        if 0 < fit.modes.count("slide") < SEVERAL:
            reason += (
                "; a hit that sticks or turns meanwhile, as it may where joints give, shows less than the friction: "
                f"it takes {SEVERAL} that slide"
            )
        notes.append(f"the friction is not determined: {reason}")
    if fit.fitted == ("normal",):
        lean = math.degrees(math.atan(friction)) if friction > 0.0 else 0.0
        assumed = f"friction {friction:g} was assumed, by which the impulse leans {lean:.0f} deg where it slides"
        notes.append(assumed + "; --friction gives another, --fit normal friction fits it")
    if fit.unexplained > 0.3:
        notes.append(
            f"{100.0 * fit.unexplained:.0f} % of the jumps stay unexplained by one surface and Coulomb's law: "
            "--object-mass for what gives way, --per-hit for several surfaces"
        )
    return notes


def _missing(fit: ContactSurfaceFit, point_fitted: bool) -> str:
    if fit.rivals:
        return (
            "several solutions explain the jumps equally well; hits that slide another way on the same surface "
            "separate them"
        )
    if len(fit.modes) == 1 and point_fitted:
        return "one hit determines no point on its line, whose velocity is needed; give --offset, or more hits"
    if len(fit.fitted) == 2 and len(fit.modes) == 1:
        return "one hit determines normal and friction only together; give one, or hits that slide in other directions"
    return "more hits of the same surface, which slide in other directions, are needed"
