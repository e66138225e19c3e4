"""Node `run_monitor`: reports a running graph to `impact-aware demo`, as JSON lines on its standard output.

Each diagnostics status becomes one line `{"node": ..., "level": ..., "message": ..., VALUES}`. A line `safe_stop`,
`reset` or `start` on its standard input calls the controller's service of that name.
"""

from __future__ import annotations

import os
import select
import sys
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from std_srvs.srv import Trigger

from impact_aware.json_text import json_text
from impact_aware.ros.readiness import Readiness
from impact_aware.ros.runtime import run_node
from impact_aware.ros.timers import steady_timer

REQUESTS = ("safe_stop", "reset", "start")
"""Services of the controller that a line on the standard input may name."""

INPUT_PERIOD = 0.05
"""Time between two looks at the standard input, s."""


class RunMonitorNode(Node):
    """Turns diagnostics into lines and lines into service calls."""

    def __init__(self, **ros: Any) -> None:
        """Subscribe to the diagnostics of the whole graph; `ros` goes to rclpy's node."""
        super().__init__("run_monitor", **ros)
        self.finished, self._begun = False, b""
        self._readiness = Readiness(self)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 50)
        self._requests = {name: self.create_client(Trigger, f"rs_controller/{name}") for name in REQUESTS}
        steady_timer(self, INPUT_PERIOD, self._read_input)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            line = {"node": status.name, "level": status.level[0], "message": status.message}
            line.update({value.key: value.value for value in status.values})
            self._print(line)

    def _read_input(self) -> None:
        if not select.select([sys.stdin], [], [], 0.0)[0]:
            return
        # Not `readline`: it reads ahead, and `select` does not report the lines that it holds.
        received = os.read(sys.stdin.fileno(), 4096)
        self.finished = self.finished or not received
        *lines, self._begun = (self._begun + received).split(b"\n")
        for line in lines:
            client = self._requests.get(line.decode(errors="replace").strip())
            if client is not None and client.service_is_ready():
                client.call_async(Trigger.Request())

    def _print(self, line: dict[str, object]) -> None:
        try:
            print(json_text(line), flush=True)
        except BrokenPipeError:
            # The parent process has ended.
            self.finished = True


main = partial(run_node, RunMonitorNode)
