"""Numbers of the command line: ASCII, finite and in a range, and every mistake is one line that names the option."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from impact_aware.errors import ImpactAwareError, InvalidInputError, one_line
from impact_aware.ranges import read_number

if TYPE_CHECKING:
    from impact_aware.arrays import Array

LARGEST = 1e12
"""Magnitude of any number; stamps, s since 1970, have 1.8e9."""

MOST = 2**31 - 1
"""Largest count, or seed of a random generator."""


def number(option: str, word: str) -> float:
    """One number.

    Raises:
        InvalidInputError: It is none, or larger than `LARGEST`.
    """
    try:
        return real()(word)
    except argparse.ArgumentTypeError as error:
        raise InvalidInputError(option, repr(word), str(error).partition("expected ")[2]) from error


def numbers(option: str, words: Sequence[str]) -> Array:
    """Several numbers (k,), with the errors of `number`."""
    import numpy as np  # `--help` has no need of it

    return np.array([number(option, word) for word in words])


def real(low: float = -LARGEST, high: float = LARGEST) -> Callable[[str], float]:
    """Return the `type` of an option that is a number within these bounds."""
    return lambda word: _within(word, read_number, low, high, f"a number, {low:g} to {high:g}")


def whole(low: int = 0, high: int = MOST) -> Callable[[str], int]:
    """Return the `type` of an option that is an integer within these bounds."""
    return lambda word: int(_within(word, _integer, low, high, f"a whole number, {low} to {high}"))


def _integer(word: str) -> int:
    read_number(word)
    return int(word)


def _within(word: str, read: Callable[[str], Any], low: float, high: float, expected: str) -> Any:
    try:
        value = read(word)
    except (ValueError, OverflowError):
        value = math.nan
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"got {word[:80]!r}, expected {expected}")
    return value


class NumberParser(argparse.ArgumentParser):
    """A parser whose options of type `float` and `int` are `real()` and `whole()`; a bad value is one line."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        """Take what `ArgumentParser` takes."""
        super().__init__(*args, **settings)
        self.register("type", float, real())
        self.register("type", int, whole())

    def error(self, message: str) -> NoReturn:
        """Raise what an option's value is refused with, which the command prints; end with the usage otherwise."""
        if message.startswith("argument --"):
            raise ImpactAwareError(message.removeprefix("argument "))
        super().error(one_line(message))
