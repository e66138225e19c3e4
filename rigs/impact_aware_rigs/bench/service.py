"""Round trip of `predict_post_impact` over DDS, plain and with its covariance, beside an empty service, in turn."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from impact_aware.bringup.graph import SingleArmOptions, single_arm_graph
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.parameters import Options, described
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.probe_run import BenchmarkFailedError, run_probe


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
    robot = RobotModel.from_profile(options.robot)
    graph = single_arm_graph(SingleArmOptions(robot=options.robot, simulation=False, control=False, markers=False))
    nodes = [spec for spec in graph if spec.name == "jump_predictor"]
    nodes.append(NodeSpec("latency_echo", "latency_echo", parameters={"joints": robot.n}))
    parameters = {
        "calls": options.calls,
        "position": robot.home.tolist(),
        "velocity": [0.1 * (-1.0) ** joint for joint in range(robot.n)],
    }
    probe = NodeSpec("service_probe", "service_probe", parameters=parameters)
    # A call takes about a millisecond, far more on a busy machine.
    lines = run_probe(probe, nodes, 0.03 * options.calls)
    result = {name: figures for name, figures in lines[-1].items() if name != "last"}
    if "error" in result:
        raise BenchmarkFailedError(f"predict_post_impact refused: {result['error']}")
    return result | {"ratio_p50": result["predict"]["p50_us"] / result["empty"]["p50_us"]}
