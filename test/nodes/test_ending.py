"""A node whose middleware does not let go of it ends all the same, with what it has to close closed, and says where."""

import math
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from patience import LONGEST

from impact_aware.bringup import processes
from impact_aware.ros import runtime

NODE = """
import sys, threading, time
from rclpy.node import Node
from impact_aware.ros import runtime

class Stuck(Node):
    finished = True
    def __init__(self):
        super().__init__("stuck")
    def close(self):
        print("closed", flush=True)
    def destroy_node(self):
        threading.Event().wait(40.0)

runtime.LEAVE_TIMEOUT = 0.5
sys.exit(runtime.run_node(Stuck))
"""


def test_a_node_that_hangs_in_the_middleware_ends_by_itself():
    ended = subprocess.run([sys.executable, "-c", NODE], capture_output=True, text=True, timeout=LONGEST)
    assert ended.stdout == "closed\n"
    assert ended.returncode == 1
    assert "in destroy_node" in ended.stderr


HELD = """
import sys, time
from rclpy.node import Node
from impact_aware.ros import runtime

class Held(Node):
    def __init__(self):
        super().__init__("held")
        self.create_timer(0.01, self.wait_for_nothing)
    def wait_for_nothing(self):
        print("held", flush=True)
        while True:
            time.sleep(1.0)

sys.exit(runtime.run_node(Held))
"""


def test_a_node_that_hangs_before_its_end_says_where_and_is_killed():
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", HELD], **pipes) as held:
        assert held.stdout.readline() == "held\n"
        process = SimpleNamespace(spec=SimpleNamespace(full_name="held"), signal=held.send_signal)
        kind = type("Process", (SimpleNamespace,), {"running": property(lambda own: held.poll() is None)})
        assert processes.end_processes([kind(**vars(process))], patience=0.3) == ["held"]
        assert held.wait(5.0) == -signal.SIGKILL
        assert "in wait_for_nothing" in held.stderr.read()


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([{}], 1.2),
        ([{"stop_timeout": 4.0}, {}], 4.0),
        ([{"stop_timeout": 0.5}], 0.5),
        ([{"finished_at": 0.8}], 0.8),
        ([{"stop_timeout": 3.0, "finished_at": 0.2}, {"finished_at": 2.0}], 2.0),
        ([], 0.0),
    ],
)
def test_a_node_that_was_asked_to_end_has_its_own_time_for_it(monkeypatch, ros_context, nodes, expected):
    clock = SimpleNamespace(now=70.0)

    class Ending:
        def __init__(self, finished_at=math.inf, **own):
            self.at, self.asked = 70.0 + finished_at, False
            vars(self).update(own)

        finished = property(lambda self: clock.now >= self.at)

        def prepare_stop(self):
            self.asked = True

    def spin_once(timeout_sec):
        clock.now += 0.1

    monkeypatch.setattr(runtime, "time", SimpleNamespace(monotonic=lambda: clock.now))
    made = [Ending(**own) for own in nodes]
    runtime._prepare_stop(SimpleNamespace(spin_once=spin_once), [*made, object()])
    assert clock.now - 70.0 == pytest.approx(expected, abs=0.11)
    assert all(node.asked for node in made)
