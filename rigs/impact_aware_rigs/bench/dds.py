"""State to torque over DDS at 1 kHz: the controller beside a bare echo in the same run, for one arm and for two.

The echo answers each JointState with a Float64MultiArray and computes nothing. It is measured before and after the
controller, so that what the machine does meanwhile weighs on both. With `--late-joiners` it is the controller, first
undisturbed and then with nodes that are started beside it one after the other; with `--single-process` it is the whole
graph but markers, as many processes and as one; with `--relay` also the way on through a KUKA's relay to its driver.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tqdm import tqdm

from impact_aware.bringup.command_path import OVERLAY_TOPIC, OVERLAY_TYPE
from impact_aware.bringup.graph import DualArmOptions, SingleArmOptions, dual_arm_graph, single_arm_graph
from impact_aware.bringup.node_spec import NodeSpec, in_one_process
from impact_aware.bringup.processes import NodeProcess
from impact_aware.bringup.urgency import BY_DEFAULT, add_priority, chosen_priority, urgent
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, start_posture
from impact_aware_rigs.bench.probe_run import patient, run_probe
from impact_aware_rigs.figures import processor_seconds

RELAY = "kuka_fri_relay"

CONTROLLERS = ("reference_field", "rs_controller", RELAY)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how long to measure."""
    parser.add_argument("--seconds", type=float, default=60.0, help="measured time of each, s (default 60)")
    parser.add_argument("--rate", type=float, default=1000.0, help="states per second (default 1000)")
    parser.add_argument("--robot", default="panda", help="robot profile of the single arm (default panda)")
    parser.add_argument(
        "--arms", type=int, choices=(1, 2), default=1, help="one arm, or the two of the grab (default 1)"
    )
    parser.add_argument("--late-joiners", type=int, default=0, help="nodes that join while the controller answers")
    parser.add_argument("--single-process", action="store_true", help="compare the graph in one process with many")
    parser.add_argument("--relay", action="store_true", help=f"also through {RELAY}, for one arm; see --rate")
    add_priority(parser, "all nodes, baseline and probe included", BY_DEFAULT)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure; `{"echo": {"p50_us", "p99_us", "lost", ...}, "control": {...}, "ratio_p99": ...}`.

    Raises:
        InvalidInputError: No time to measure, no rate, or no number of nodes that join.
        BenchmarkFailedError: The nodes did not run.
    """
    if not 1.0 <= options.seconds <= 86400.0:
        raise InvalidInputError("--seconds", options.seconds, "1 to 86400 s")
    if not 10.0 <= options.rate <= 5000.0:
        raise InvalidInputError("--rate", options.rate, "10 to 5000 Hz")
    if not 0 <= options.late_joiners <= 20:
        raise InvalidInputError("--late-joiners", options.late_joiners, "0 to 20 nodes")
    if options.relay and (options.arms == 2 or options.late_joiners or options.single_process):
        raise InvalidInputError("--relay", "given", "neither --arms 2, --late-joiners nor --single-process beside it")
    priority = chosen_priority(options.priority)
    arms = two_arms(options.rate) if options.arms == 2 else one_arm(options.robot, options.rate)
    if options.late_joiners:
        return with_late_joiners(arms, options, priority)
    if options.single_process:
        return one_process_and_many(arms, options, priority)
    blocks: dict[str, list[dict[str, float]]] = {"echo": [], "control": []}
    plan = [("echo", arms, arms.echo, 0.5), ("control", arms, arms.control, 1.0), ("echo", arms, arms.echo, 0.5)]
    if options.relay:
        relayed = one_arm(options.robot, options.rate, relay=RELAY)
        plan.insert(2, ("relay", relayed, relayed.control, 1.0))
        blocks["relay"] = []
    with tqdm(total=sum(part[-1] for part in plan) * options.seconds, unit="s", disable=not sys.stderr.isatty()) as bar:
        for name, own, nodes, share in plan:
            bar.set_description(name)
            seconds = share * options.seconds
            probe, *answering = urgent([own.probe(rate=options.rate, duration=seconds), *nodes], priority)
            blocks[name] += run_probe(probe, answering, seconds)
            bar.update(seconds)
    result: dict[str, Any] = {name: together(lines) for name, lines in blocks.items()}
    for name, prefix in (("control", ""), ("relay", "relay_")):
        if name in result:
            for figure in ("p50", "p99"):
                result[f"{prefix}ratio_{figure}"] = result[name][f"{figure}_us"] / result["echo"][f"{figure}_us"]
    result["priority"] = priority
    result["aim"] = {"p99_us": 1000.0} if options.arms == 2 else {"ratio_p99": 1.3}
    return result


def with_late_joiners(arms: ProbedArms, options: argparse.Namespace, priority: int) -> dict[str, Any]:
    """The controller undisturbed and with nodes that join; `{"alone": {..., "gap_ms": ...}, "joined": {...}, ...}`."""
    count, seconds = options.late_joiners, options.seconds
    parameters = {"rate": options.rate, "duration": seconds, "report_period": seconds / (count + 1)}
    probe, *answering = urgent([arms.probe(**parameters), *arms.control], priority)
    spaces = [arms.names[index % len(arms.names)] if arms.names else "" for index in range(count)]
    late = [NodeSpec("impact_detector", f"late_{index}", namespace=name) for index, name in enumerate(spaces)]
    result: dict[str, Any] = {
        "alone": together(run_probe(probe, answering, seconds)),
        "joined": together(run_probe(probe, answering, seconds, late=late)),
    }
    return result | {"late_joiners": count, "priority": priority, "aim": {"gap_ms": 10.0}}


def one_process_and_many(arms: ProbedArms, options: argparse.Namespace, priority: int) -> dict[str, Any]:
    """The whole graph; `{"many": {"p50_us", ..., "processor_share"}, "one": {...}, ...}`, shares of one processor."""
    probe, *nodes = urgent([arms.probe(rate=options.rate, duration=options.seconds), *arms.graph], priority)
    result: dict[str, Any] = {}
    for name, answering in (("many", tuple(nodes)), ("one", in_one_process(nodes))):
        used = ProcessorUse(exempt=probe.full_name)
        figures = together(run_probe(probe, answering, options.seconds, on_tick=used.look))
        result[name] = figures | {"processor_share": used.share(0.8 * options.seconds)}
    return result | {"priority": priority}


class ProcessorUse:
    """Processor time of some processes together."""

    def __init__(self, exempt: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Of all but the one that is `exempt`."""
        self._exempt, self._clock = exempt, clock
        self._samples: list[tuple[float, float]] = []

    def look(self, processes: Mapping[str, NodeProcess]) -> None:
        """Note how much they have used."""
        used = [processor_seconds(own.process.pid) for name, own in processes.items() if name != self._exempt]
        if None not in used:
            self._samples.append((self._clock(), sum(filter(None, used))))

    def share(self, duration: float) -> float:
        """Of one processor, over the last `duration`, s; NaN where that was not seen."""
        last = self._samples[-1][0] if self._samples else 0.0
        late = [sample for sample in self._samples if sample[0] >= last - duration]
        if len(late) < 2:
            return math.nan
        (begin, before), (end, after) = late[0], late[-1]
        return (after - before) / (end - begin)


@dataclass(frozen=True)
class ProbedArms:
    """The nodes of one arm or two on hardware, and what a probe needs to play the hardware's driver.

    Attributes:
        graph: All nodes of the suite, the controller among them a patient one.
        names: Of the arms, their namespaces; empty for a single arm without one.
        robot: Model of each arm.
        posture: Angles that the probe swings about, arm after arm, rad.
        answers: Topic and type of what answers a state; empty for torques as `rs_controller` sends them.
    """

    graph: tuple[NodeSpec, ...]
    names: tuple[str, ...]
    robot: RobotModel
    posture: tuple[float, ...]
    answers: tuple[str, ...] = ()

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
        answers = dict(zip(("answers", "answer_type"), self.answers, strict=False))
        return NodeSpec("latency_probe", "latency_probe", parameters=arms | own | answers | parameters)


def one_arm(name: str, rate: float, *, markers: bool = False, relay: str = "") -> ProbedArms:
    """A single arm with this profile, whose states come at this rate, Hz; `relay` passes its torques on to a driver."""
    robot = RobotModel.from_profile(name)
    options = SingleArmOptions(robot=name, simulation=False, markers=markers)
    if relay:
        options = replace(options, relay=relay, commands=f"{relay}/commands", period=1.0 / rate)
    graph = single_arm_graph(options)
    posture = start_posture(load_task(SingleArmOptions().task).arms[0], robot)
    answers = (OVERLAY_TOPIC, OVERLAY_TYPE) if relay else ()
    return ProbedArms(patient(graph, rate), (), robot, tuple(posture.tolist()), answers)


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
