"""Numbers of the command line, read as text so that every mistake is answered in one line that names the option."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError


def number(option: str, word: str) -> float:
    """One number.

    Raises:
        InvalidInputError: It is none.
    """
    try:
        return float(word)
    except ValueError as error:
        raise InvalidInputError(option, repr(word), "a number") from error


def numbers(option: str, words: Sequence[str]) -> Array:
    """Several numbers (k,), with the errors of `number`."""
    return np.array([number(option, word) for word in words])
