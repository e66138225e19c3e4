"""Whether joint states come as often as the control period says."""

from __future__ import annotations

from impact_aware.detection import InputQuality

RATE_TOLERANCE = 0.2
"""Share of the control period by which the time between two states may differ from it."""


def rate_mismatch(topic: str, quality: InputQuality | None, period: float) -> str:
    """Why a control period does not suit the source of the states, as one sentence; empty when it does.

    Gains, limits of torque rate and predictions over one cycle all count in periods, s. States that got lost on the way
    don't matter: it is about how often the source makes one, which nobody knows before there is a `quality`.
    """
    if quality is None or not quality.rate > 0.0:
        return ""
    between = (1.0 - quality.missing_share) / quality.rate
    if abs(between - period) <= RATE_TOLERANCE * period:
        return ""
    return (
        f"{topic} comes at {1.0 / between:.0f} Hz, but parameter period is {period:g} s, {1.0 / period:.0f} Hz: "
        f"set it to {between:.2g}, or listen to a topic at the rate of control"
    )
