"""Time limits that end what hangs, and that a busy machine does not reach."""

import os
import time

LONGEST = 1200.0
"""Of a process that a test waits for, s: many times what the slowest one takes on a machine at load 30."""


def patient(seconds: float) -> float:
    """A limit, s, for what takes a fraction of `seconds` on an idle machine: longer, the busier the machine is."""
    return seconds * max(3.0, 2.0 * os.getloadavg()[0] / (os.cpu_count() or 1))


def until(condition, each=lambda: time.sleep(0.01), seconds=20.0):
    """Do `each` until a condition holds; what it was at last, once it holds or `patient(seconds)` are over."""
    deadline = time.monotonic() + patient(seconds)
    while not (met := condition()) and time.monotonic() < deadline:
        each()
    return met
