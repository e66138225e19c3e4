"""Ranges of numbers that come from outside: what is finite can still be absurd, and is refused by name."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from impact_aware.errors import InvalidInputError


def read_number(word: str) -> float:
    """Return the number that a word is, which may be infinite or NaN.

    Raises:
        ValueError: The word is none, such as `1_0` or digits of another script, which Python would read.
    """
    if "_" in word or not word.isascii():
        raise ValueError(f"no number: {word[:40]!r}")
    return float(word)


class Range(NamedTuple):
    """Which values a number may have.

    Attributes:
        low: Least value.
        high: Largest value; infinite for any finite one.
        unit: Of both, for messages; empty without one.
        open_below: Whether `low` itself is refused.
    """

    low: float
    high: float = math.inf
    unit: str = ""
    open_below: bool = False

    def check(self, field: str, values: float | Iterable[float]) -> None:
        """Refuse a number, or any of several, that is outside.

        Raises:
            InvalidInputError: Naming the field.
        """
        for value in values if isinstance(values, Iterable) else (values,):
            check_scalar(field, value, self.low, self.high, open_below=self.open_below, unit=self.unit)


POSITIVE, NOT_NEGATIVE = Range(0.0, open_below=True), Range(0.0)


def check_scalar(
    field_name: str, value: float, low: float, high: float, *, open_below: bool = False, unit: str = ""
) -> None:
    """Refuse a number outside [low, high], (low, high] when `open_below`, or not finite.

    Raises:
        InvalidInputError: Naming the field.
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and low <= number <= high) or (open_below and number == low):
        least = f"a number {'>' if open_below else '>='} {low:g}"
        expected = f"{least}{'' if math.isinf(high) else f' and <= {high:g}'} {unit}"
        raise InvalidInputError(field_name, value, expected.rstrip())
