"""A number as the report writes it."""

from __future__ import annotations

import math

UNKNOWN = "–"
"""What stands for a number that is not known."""


def number_text(value: float | None, digits: int) -> str:
    """Format a number with fixed digits and a typographic minus; -0.00 becomes 0.00, an unknown value `UNKNOWN`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = f"{value:.{digits}f}"
    return (text.lstrip("-") if float(text) == 0.0 else text).replace("-", "\u2212")
