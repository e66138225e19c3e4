"""Loops over small arrays, compiled: where NumPy would spend the time of a control cycle on being called.

A NumPy call on seven numbers takes longer than the arithmetic in it by a hundred times, and more where the processor's
caches were used by others meanwhile, as they are between two cycles. Functions that carry `@compiled` are plain Python
with loops, which Numba translates once, when their module is imported for the first time; the result is kept beside the
source, or in the user's cache folder where that can't be written to.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from numba import njit, types

Function = TypeVar("Function", bound=Callable[..., object])

NOTHING, FLAG, INDEX, NUMBER = types.void, types.boolean, types.int64, types.float64
"""Types of what is given or returned."""

FLAG_AND_INDEX = types.Tuple((types.boolean, types.int64))
"""Two answers of one function."""

PAIR, TRIPLE, FOUR, SIX = (types.UniTuple(types.float64, count) for count in (2, 3, 4, 6))
"""As many numbers together."""

VECTOR, MATRIX = (types.Array(types.float64, dimensions, "A", readonly=True) for dimensions in (1, 2))
"""Arrays that are only read, of any memory layout."""

WRITTEN_VECTOR, WRITTEN_MATRIX = (types.Array(types.float64, dimensions, "A") for dimensions in (1, 2))
"""Arrays that are written to."""


@contextlib.contextmanager
def _later_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait: in a callback of the compiler it would be swallowed, and the process would not end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def compiled(returned: Any, *given: Any) -> Callable[[Function], Function]:
    """Translate a function for these types; anything else that it is called with is a TypeError.

    Division by zero gives infinities as in NumPy, sums are not reordered, values that are not finite compare as IEEE
    754 says, and indices are not checked.

    Args:
        returned: Type of the result.
        given: Types of the arguments.
    """

    def translate(function: Function) -> Function:
        with _later_interrupts():
            try:
                return njit(returned(*given), cache=True, error_model="numpy")(function)
            except (OSError, RuntimeError):
                # Nowhere to keep the result, as under a service without a home: every process translates anew.
                return njit(returned(*given), error_model="numpy")(function)

    return translate
