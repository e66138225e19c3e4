"""Node `service_probe`: times calls of `predict_post_impact` beside calls of an empty service, turn by turn.

Prints one JSON line: round-trip times of both, from sending the request to having the response.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from typing import Any

from impact_aware_msgs.srv import PredictPostImpact
from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Empty

from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.nodes.ros.runtime import run_node
from impact_aware.parameters import described
from impact_aware_rigs.figures import percentiles

WARM_UP = 50
"""Calls of each service that are not measured."""

START_PERIOD = 0.05
"""Time between two looks for the services, s."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    calls: int = described(1000, "measured calls of each service", 1, 10000000)
    position: list[float] = described([], "joint positions of the requests, rad")
    velocity: list[float] = described([], "joint velocities of the requests, rad/s")


class ServiceProbeNode(Node):
    """Calls one service after the other, each when the last one has answered."""

    def __init__(self) -> None:
        """Make the clients; calling begins when both services are there."""
        super().__init__("service_probe")
        self.finished = False
        settings = load_settings(self, Settings)
        self._calls = settings.calls + WARM_UP
        state = {"position": settings.position, "velocity": settings.velocity}
        predictor = self.create_client(PredictPostImpact, "predict_post_impact")
        self._targets: dict[str, tuple[Client, Any]] = {
            "empty": (self.create_client(Empty, "empty"), Empty.Request()),
            "predict": (predictor, PredictPostImpact.Request(**state)),
            "predict_with_covariance": (predictor, PredictPostImpact.Request(details=2, **state)),
        }
        self._turns = dict(zip(self._targets, [*self._targets][1:] + ["empty"], strict=True))
        self._times: dict[str, list[float]] = {name: [] for name in self._targets}
        self._timer = self.create_timer(START_PERIOD, self._start)

    def _start(self) -> None:
        if all(client.service_is_ready() for client, _ in self._targets.values()):
            self._timer.cancel()
            self._call("empty")

    def _call(self, name: str) -> None:
        client, request = self._targets[name]
        begin = time.perf_counter()
        client.call_async(request).add_done_callback(lambda future: self._on_answer(name, begin, future))

    def _on_answer(self, name: str, begin: float, future: Future) -> None:
        self._times[name].append(time.perf_counter() - begin)
        answer = future.result()
        if name != "empty" and not answer.success:
            print(json.dumps({"error": answer.message, "last": True}), flush=True)
            self.finished = True
        elif min(map(len, self._times.values())) >= self._calls:
            print(json.dumps({name: _figures(times) for name, times in self._times.items()} | {"last": True}))
            self.finished = True
        else:
            self._call(self._turns[name])


def _figures(times: list[float]) -> dict[str, float]:
    return {"calls": len(times) - WARM_UP, **percentiles(times[WARM_UP:])}


def main() -> None:
    """Run the node."""
    sys.exit(run_node(ServiceProbeNode))
