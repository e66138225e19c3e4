"""State to torque over DDS at 1 kHz: the controller beside a bare echo in the same run, for one arm and for two.

The echo answers each JointState with a Float64MultiArray and computes nothing. It is measured before and after the
controller, so that what the machine does meanwhile weighs on both.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from impact_aware.bringup.graph import DualArmOptions, SingleArmOptions, dual_arm_graph, single_arm_graph
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.bringup.urgency import BY_DEFAULT, HIGHEST, chosen_priority, urgent
from impact_aware.cli.output import progress
from impact_aware.parameters import Options, described
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, start_posture
from impact_aware_rigs.bench.probe_run import patient, run_probe

CONTROLLERS = ("reference_field", "rs_controller")


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """Arms that are measured, and for how long."""

    seconds: float = described(60.0, "measured time of each, s", 1.0, 86400.0)
    rate: float = described(1000.0, "states per second", 10.0, 5000.0)
    robot: str = described("panda", "robot profile of the single arm")
    arms: int = described(1, "one arm, or the two of the grab", 1, 2)
    priority: int | None = described(
        None, "realtime_priority of all nodes, baseline and probe included; 0: ordinary scheduling", 0, HIGHEST,
        absent=BY_DEFAULT.removeprefix("default: "),
    )  # fmt: skip


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure; `{"echo": {"p50_us", "p99_us", "lost", ...}, "control": {...}, "ratio_p99": ...}`.

    Raises:
        BenchmarkFailedError: The nodes did not run.
    """
    priority = chosen_priority(options.priority)
    arms = two_arms(options.rate) if options.arms == 2 else one_arm(options.robot, options.rate)
    blocks: dict[str, list[dict[str, float]]] = {"echo": [], "control": []}
    plan = [("echo", arms.echo, 0.5), ("control", arms.control, 1.0), ("echo", arms.echo, 0.5)]
    with progress(total=2.0 * options.seconds, unit="s") as bar:
        for name, nodes, share in plan:
            bar.set_description(name)
            seconds = share * options.seconds
            probe, *answering = urgent([arms.probe(rate=options.rate, duration=seconds), *nodes], priority)
            blocks[name] += run_probe(probe, answering, seconds)
            bar.update(seconds)
    result: dict[str, Any] = {name: together(lines) for name, lines in blocks.items()}
    for figure in ("p50", "p99"):
        result[f"ratio_{figure}"] = result["control"][f"{figure}_us"] / result["echo"][f"{figure}_us"]
    result["priority"] = priority
    return result


@dataclass(frozen=True)
class ProbedArms:
    """The nodes of one arm or two on hardware, and what a probe needs to play the hardware's driver.

    Attributes:
        graph: All nodes of the suite, the controller among them a patient one.
        names: Of the arms, their namespaces; empty for a single arm without one.
        robot: Model of each arm.
        posture: Angles that the probe swings about, arm after arm, rad.
    """

    graph: tuple[NodeSpec, ...]
    names: tuple[str, ...]
    robot: RobotModel
    posture: tuple[float, ...]

    @property
    def control(self) -> tuple[NodeSpec, ...]:
        """What answers states with torques."""
        return tuple(spec for spec in self.graph if spec.name in CONTROLLERS)

    @property
    def echo(self) -> tuple[NodeSpec, ...]:
        """The baseline: an echo in each arm's namespace, so that as many messages go round."""
        parameters = {"joints": self.robot.n}
        return tuple(
            NodeSpec("latency_echo", "latency_echo", namespace=name, parameters=parameters)
            for name in self.names or ("",)
        )

    def probe(self, **parameters: float) -> NodeSpec:
        """The probe of these arms."""
        arms = {"arms": list(self.names)} if self.names else {}
        own = {"joint_names": list(self.robot.joint_names), "posture": list(self.posture)}
        return NodeSpec("latency_probe", "latency_probe", parameters=arms | own | parameters)


def one_arm(name: str, rate: float) -> ProbedArms:
    """A single arm with this profile, whose states come at this rate, Hz."""
    robot = RobotModel.from_profile(name)
    graph = single_arm_graph(SingleArmOptions(robot=name, simulation=False, markers=False))
    posture = start_posture(load_task(SingleArmOptions().task).arms[0], robot)
    return ProbedArms(patient(graph, rate), (), robot, tuple(posture.tolist()))


def two_arms(rate: float) -> ProbedArms:
    """The arms of the grab, which are alike; their states come at this rate, Hz."""
    task = load_task(DualArmOptions().task)
    robots = [RobotModel.from_profile(arm.robot) for arm in task.arms]
    graph = dual_arm_graph(DualArmOptions(simulation=False, markers=False))
    postures = [start_posture(arm, robot).tolist() for arm, robot in zip(task.arms, robots, strict=True)]
    return ProbedArms(patient(graph, rate), tuple(arm.name for arm in task.arms), robots[0], tuple(sum(postures, [])))


def together(lines: list[dict[str, float]]) -> dict[str, float]:
    """Blocks as one: counts add up, percentiles are the mean of the blocks', the largest is the largest."""
    figures = {key: sum(line[key] for line in lines) for key in ("sent", "answered", "lost")}
    figures |= {key: sum(line[key] for line in lines) / len(lines) for key in ("p50_us", "p99_us")}
    return figures | {key: max(line[key] for line in lines) for key in ("max_us", "gap_ms")}
