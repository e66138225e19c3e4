"""Node `run_monitor` without a graph: what comes on its standard input."""

import os

import rclpy

from impact_aware.nodes.run_monitor import RunMonitorNode


def test_it_ends_with_its_standard_input_and_not_before(ros_context, monkeypatch):
    reader, writer = os.pipe()
    with os.fdopen(reader) as lines:
        monkeypatch.setattr("sys.stdin", lines)
        node = RunMonitorNode()
        os.write(writer, b"safe_stop\n")
        ended = []
        for _ in range(40):
            rclpy.spin_once(node, timeout_sec=0.02)
            ended.append(node.finished)
            if len(ended) == 20:
                os.close(writer)
        node.destroy_node()
    assert (ended[19], ended[39]) == (False, True)
