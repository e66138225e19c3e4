"""Guards of speed: counts of Python calls, which depend on no machine, and ratios of times taken in turn within a run.

`make guard` runs them one after the other. Bounds leave room for noise but not for code that is half as slow again.
"""

import gc
import sys
import time

import pytest


class Calls:
    """Calls of Python and C functions while something runs, as `sys.setprofile` reports them.

    Operators and ufuncs of NumPy, compiled functions and those of Pinocchio are not reported where they begin.
    """

    def __call__(self, work):
        """Number of calls that `work()` makes."""
        count = 0

        def note(frame, event, argument):
            nonlocal count
            count += event in ("call", "c_call")

        gc.disable()  # whose callbacks would count
        sys.setprofile(note)
        try:
            work()
        finally:
            sys.setprofile(None)
            gc.enable()
        # The call of `work` itself counts, that of the last `setprofile` does not.
        return count - 1


@pytest.fixture
def calls():
    return Calls()


@pytest.fixture
def least_times():
    """Smallest processor time per call of each of several works, s, taken in turn so that load meets all alike."""

    def measure(works, repeats, rounds=40):
        least = dict.fromkeys(works, float("inf"))
        gc.disable()
        try:
            for _ in range(rounds):
                for name, work in works.items():
                    begun = time.thread_time()
                    for _ in range(repeats):
                        work()
                    least[name] = min(least[name], (time.thread_time() - begun) / repeats)
        finally:
            gc.enable()
        return least

    return measure
