"""A node whose middleware does not let go of it ends all the same, with what it has to close closed, and says where."""

import subprocess
import sys

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
