"""A process ends with its own status, in time, even where its main thread holds Python's lock for ever."""

import subprocess
import sys
import time

import pytest
from patience import LONGEST

PROGRAM = """
import ctypes
from impact_aware.ros.timers import exit_after
exit_after({duration}, {status})
print("waiting", flush=True)
ctypes.PyDLL(None).sleep({asleep})
print("over", flush=True)
"""


def run(**values):
    begin = time.monotonic()
    words = [sys.executable, "-c", PROGRAM.format(**values)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=False)
    return done, time.monotonic() - begin


@pytest.mark.parametrize(("duration", "status"), [(0.3, 0), (1.25, 7)])
def test_it_ends_in_time_with_its_status(duration, status):
    done, took = run(duration=duration, status=status, asleep=40)
    assert (done.returncode, done.stdout) == (status, "waiting\n")
    assert duration < took < 30.0


def test_one_that_is_quicker_ends_by_itself():
    done, _ = run(duration=50.0, status=7, asleep=0)
    assert (done.returncode, done.stdout) == (0, "waiting\nover\n")
