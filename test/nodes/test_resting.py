"""A process whose nodes nobody waits for sleeps while messages come, once it has done what there was to do."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
from patience import LONGEST

from impact_aware.ros import runtime

NODES = """
import os, sys, time
from rclpy.node import Node
from impact_aware.ros import runtime

slept, waited = [], iter([False, True, False, True, True])

class Patient(Node):
    finished = False
    def __init__(self, name, rest):
        super().__init__(name)
        if rest:
            self.rest = rest

def next_wait(executor, nodes):
    nodes[0].finished = len(slept_or_not) == 4
    slept_or_not.append(1)
    return next(waited)

slept_or_not = []
runtime.waited = next_wait
runtime.spin = lambda executor, nodes, duration: next_wait(executor, nodes)
runtime.time = type("Clock", (), {"sleep": staticmethod(slept.append), "monotonic": staticmethod(time.monotonic)})
makers = {f"node_{k}": (lambda k=k, rest=rest: Patient(f"node_{k}", rest)) for k, rest in enumerate(RESTS)}
os._exit = lambda status: print(slept, status)
runtime.run_nodes(makers)
"""


@pytest.mark.parametrize(
    ("rests", "slept"), [((0.02,), [0.02] * 3), ((0.02, 0.005), [0.005] * 3), ((0.02, 0.0), []), ((0.0,), [])]
)
def test_it_rests_after_each_wait_as_long_as_all_of_its_nodes_may(rests, slept):
    script = NODES.replace("RESTS", repr(rests))
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LONGEST)
    assert ended.stdout.splitlines()[-1] == f"{slept} 0", ended.stderr


@pytest.mark.parametrize(
    ("wall", "busy", "waited"),
    [((1.0, 1.004), (0.5, 0.501), True), ((1.0, 1.004), (0.5, 0.5039), False), ((1.0, 1.0001), (0.5, 0.5), False)],
)
def test_it_has_waited_when_time_went_by_without_the_processor(monkeypatch, wall, busy, waited):
    walls, busies = iter(wall), iter(busy)
    clock = SimpleNamespace(monotonic=lambda: next(walls), thread_time=lambda: next(busies))
    monkeypatch.setattr(runtime, "time", clock)
    asked = []
    executor = SimpleNamespace(spin_once=lambda timeout_sec: asked.append(timeout_sec))
    assert runtime.waited(executor, []) is waited
    assert asked == [runtime.SPIN_TIMEOUT]
