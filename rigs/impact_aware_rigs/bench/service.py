"""Round trip of `predict_post_impact` over DDS, plain and with its covariance, beside an empty service, in turn."""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from dataclasses import dataclass
from typing import Any

from impact_aware.bringup.graph import SingleArmOptions, single_arm_graph
from impact_aware.bringup.middleware import choose_transport
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.parameters import Options, described
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.probe_run import START_TIMEOUT, BenchmarkFailedError
from impact_aware_rigs.figures import percentiles
from impact_aware_rigs.graph_run import GraphRun

WARM_UP = 50
"""Calls of each service that are not measured."""


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """Calls of each service."""

    calls: int = described(2000, "measured calls of each service", 1, 10_000_000)
    robot: str = described("panda", "robot profile")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure; `{"empty": {"p50_us", "p99_us"}, "predict": {...}, "predict_with_covariance": {...}, "ratio_p50": ...}`.

    The ratio is that of a plain prediction.

    Raises:
        BenchmarkFailedError: The nodes did not run, or a prediction was refused.
    """
    import rclpy
    from impact_aware_msgs.srv import PredictPostImpact
    from rclpy.node import Node
    from std_srvs.srv import Empty

    from impact_aware.ros.runtime import make_executor

    robot = RobotModel.from_profile(options.robot)
    graph = single_arm_graph(SingleArmOptions(robot=options.robot, simulation=False, control=False, markers=False))
    nodes = [spec for spec in graph if spec.name == "jump_predictor"]
    nodes.append(NodeSpec("latency_echo", "latency_echo", parameters={"joints": robot.n}))
    state = {"position": robot.home, "velocity": [0.1 * (-1.0) ** joint for joint in range(robot.n)]}
    calls = {
        "empty": (Empty, "empty", Empty.Request()),
        "predict": (PredictPostImpact, "predict_post_impact", PredictPostImpact.Request(**state)),
        "predict_with_covariance": (
            PredictPostImpact, "predict_post_impact", PredictPostImpact.Request(details=2, **state),
        ),
    }  # fmt: skip
    times: dict[str, list[float]] = {name: [] for name in calls}
    with GraphRun() as running, contextlib.ExitStack() as stack:
        running.start(*nodes)
        choose_transport(os.environ)
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=running.domain)
        stack.callback(context.try_shutdown)
        caller, executor = Node("service_caller", context=context), make_executor(context=context)
        executor.add_node(caller)
        clients = {name: caller.create_client(kind, service) for name, (kind, service, _) in calls.items()}
        if not all(client.wait_for_service(START_TIMEOUT) for client in clients.values()):
            raise BenchmarkFailedError("; ".join(running.died()) or f"no services within {START_TIMEOUT:g} s")
        for _ in range(WARM_UP + options.calls):
            for name, client in clients.items():
                begin = time.perf_counter()
                future = client.call_async(calls[name][2])
                executor.spin_until_future_complete(future, START_TIMEOUT)
                times[name].append(time.perf_counter() - begin)
                answer = future.result()
                if answer is None:
                    raise BenchmarkFailedError("; ".join(running.died()) or f"no answer within {START_TIMEOUT:g} s")
                if name != "empty" and not answer.success:
                    raise BenchmarkFailedError(f"predict_post_impact refused: {answer.message}")
    figures = {name: {"calls": options.calls, **percentiles(own[WARM_UP:])} for name, own in times.items()}
    return figures | {"ratio_p50": figures["predict"]["p50_us"] / figures["empty"]["p50_us"]}
