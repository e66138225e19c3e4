"""What comes while a process does not get the processor waits for it in the buffers of its sockets."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import until
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from impact_aware.ros.qos import state_qos

pytestmark = pytest.mark.dds

COUNT = 800
"""Messages while the reader stands still, of two arms' 0.4 s: several times what its sockets hold by default."""

READER = f"""
import time

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

rclpy.init()
node, seen = Node("reader"), []
qos = QoSProfile(depth={2 * COUNT}, reliability=ReliabilityPolicy.BEST_EFFORT)
node.create_subscription(JointState, "/buffered_states", lambda state: seen.append(state.header.stamp.sec), qos)
print("ready", flush=True)
last = time.monotonic() + 300.0
while {COUNT} not in seen and time.monotonic() < last:
    last = min(last, time.monotonic() + 30.0) if seen else last
    rclpy.spin_once(node, timeout_sec=0.1)
print(len(seen), flush=True)
"""


@pytest.mark.skipif(
    int(Path("/proc/sys/net/core/rmem_max").read_text()) < 2 << 20, reason="the system's sockets may not have more"
)
def test_a_reader_that_stands_still_loses_no_state_of_best_effort(ros_context):
    writer = Node("writer")
    publisher = writer.create_publisher(JointState, "/buffered_states", state_qos(reliable=True))
    with subprocess.Popen([sys.executable, "-c", READER], stdout=subprocess.PIPE, text=True, env=os.environ) as reader:
        try:
            assert reader.stdout.readline() == "ready\n"
            until(publisher.get_subscription_count)
            # Both ends know each other a little later than one of them.
            time.sleep(0.5)
            reader.send_signal(signal.SIGSTOP)
            state = JointState(name=[f"joint{number}" for number in range(7)], position=[0.1] * 7, velocity=[0.2] * 7)
            for number in range(1, COUNT + 1):
                state.header.stamp.sec = number
                publisher.publish(serialize_message(state))
            reader.send_signal(signal.SIGCONT)
            assert reader.stdout.readline() == f"{COUNT}\n"
        finally:
            reader.kill()
    writer.destroy_node()
