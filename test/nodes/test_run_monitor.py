"""Node `run_monitor` without a graph: what comes on its standard input."""

import os
from functools import partial

import rclpy
from rclpy.node import Node
from std_srvs.srv import Trigger

from impact_aware.nodes.run_monitor import RunMonitorNode


def test_every_line_is_a_request_and_it_ends_with_its_input(ros_context, monkeypatch):
    """Also of several lines at once, the last of which is not complete yet."""
    (reader, writer), controller, asked, seen = os.pipe(), Node("controller"), [], []
    for name in ("reset", "start"):
        took = partial(lambda own, _, answer: asked.append(own) or answer, name)
        controller.create_service(Trigger, f"rs_controller/{name}", took)
    with os.fdopen(reader) as lines:
        monkeypatch.setattr("sys.stdin", lines)
        node = RunMonitorNode()
        assert node.create_client(Trigger, "rs_controller/start").wait_for_service(10.0)
        for part in (b"reset\nnothing\nreset\nsta", b"rt\n", b""):
            _ = os.write(writer, part) if part else os.close(writer)
            for turn in range(60):
                rclpy.spin_once((node, controller)[turn % 2], timeout_sec=0.02)
            seen.append((" ".join(asked), node.finished))
        node.destroy_node()
        controller.destroy_node()
    assert seen == [("reset reset", False), ("reset reset start", False), ("reset reset start", True)]
