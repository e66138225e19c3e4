"""A number as the report writes it."""

from __future__ import annotations

import math

UNKNOWN = "–"
"""What stands for a number that is not known."""


def number_text(value: float | None, digits: int) -> str:
    """With a real minus sign; a minus before nothing but zeros says nothing, and is left out."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = f"{value:.{digits}f}"
    return (text.lstrip("-") if float(text) == 0.0 else text).replace("-", "\u2212")
