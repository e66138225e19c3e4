"""Hit-and-push by libfranka's protocol: each run in lockstep, whatever else the machine does."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from impact_aware.experiments.episode_settings import Camera
from impact_aware_rigs.franka import SimulatedFranka

pytest.importorskip("pylibfranka")
episodes = pytest.importorskip("impact_aware_rigs.franka.episodes", exc_type=ImportError)

STOPPER = """
import os, signal, sys, time
for _ in range(40):
    os.kill(int(sys.argv[1]), signal.SIGSTOP)
    time.sleep(0.05)
    os.kill(int(sys.argv[1]), signal.SIGCONT)
    time.sleep(0.1)
"""
"""A process of its own: the client's bindings keep this one's interpreter lock while they wait for the arm."""


def same(first, second):
    """Whether two runs went on alike, cycle by cycle."""
    return all(np.array_equal(first.recording[key], second.recording[key]) for key in first.recording)


class HeldUp(SimulatedFranka):
    """An arm whose process is stopped for 50 ms again and again from its start on."""

    def __enter__(self):
        super().__enter__()
        self.stopper = subprocess.Popen([sys.executable, "-c", STOPPER, str(self.pid)], stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *error):
        self.stopper.kill()
        self.stopper.wait()
        os.kill(self.pid, signal.SIGCONT)
        super().__exit__(*error)


def test_the_push_reaches_its_goal_and_a_process_that_is_held_up_changes_nothing(monkeypatch):
    calm = episodes.run(3, camera=Camera())
    assert calm.done and calm.stop == ""
    assert calm.status.states_lost == 0 and calm.success == 1.0
    assert abs(calm.impact_error) < 0.002
    assert calm.goal_error < 0.02
    monkeypatch.setattr(episodes, "SimulatedFranka", HeldUp)
    stopped = episodes.run(3, camera=Camera())
    assert stopped.status.states_lost == 0
    assert same(calm, stopped)
