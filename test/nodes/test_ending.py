"""A node whose middleware does not let go of it ends all the same, with what it has to close closed, and says where."""

import signal
import subprocess
import sys
from types import SimpleNamespace

from impact_aware.bringup import processes

NODE = """
import sys, threading, time
from rclpy.node import Node
from impact_aware.nodes.ros import runtime

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
    ended = subprocess.run([sys.executable, "-c", NODE], capture_output=True, text=True, timeout=30.0)
    assert ended.stdout == "closed\n"
    assert ended.returncode == 1
    assert "in destroy_node" in ended.stderr


HELD = """
import sys, time
from rclpy.node import Node
from impact_aware.nodes.ros import runtime

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
