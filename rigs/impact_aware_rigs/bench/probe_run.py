"""Runs a probe against some nodes, as the benchmarks over DDS do."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.bringup.processes import NodeProcess
from impact_aware.errors import ImpactAwareError
from impact_aware_rigs.graph_run import GraphRun, Line

START_TIMEOUT = 60.0
"""Longest time until the first answer comes, s."""

TICK = 0.5
"""Wall time between two checks of the processes, s: the measurement must not disturb them."""

PATIENCE = {"state_timeout": 1.0, "state_age_limit": 0.5}
"""Timeouts of the controller in a benchmark, s: a stall of the machine shall show in the figures, not end the run."""


class BenchmarkFailedError(ImpactAwareError):
    """The nodes did not run as the benchmark requires; the message has the reason."""


def patient(nodes: Iterable[NodeSpec], rate: float) -> tuple[NodeSpec, ...]:
    """Set the controller's period for states at this rate, Hz, and extend its timeouts to `PATIENCE`."""
    own = {**PATIENCE, "period": 1.0 / rate}
    return tuple(
        replace(spec, parameters={**spec.parameters, **own}) if spec.name == "rs_controller" else spec for spec in nodes
    )


def run_probe(
    probe: NodeSpec,
    nodes: Iterable[NodeSpec],
    duration: float,
) -> list[Line]:
    """Start the nodes and the probe, wait until the probe ends, and end everything.

    Args:
        probe: The node `latency_probe`, which prints JSON lines and ends by itself.
        nodes: What answers it.
        duration: How long the probe measures, s.

    Returns:
        The probe's lines.

    Raises:
        BenchmarkFailedError: A node died, went to its safe mode, or the probe did not end.
    """
    lines: list[Line] = []
    with GraphRun(lines.append) as graph:
        graph.start(*nodes)
        graph.start(probe, listener=True)
        talker = graph.processes[probe.full_name]
        deadline = time.monotonic() + START_TIMEOUT + 1.5 * duration
        ended = False
        while not ended and time.monotonic() < deadline:
            ended = not talker.running
            graph.listen()
            if ended:
                break
            for death in graph.died(exempt=(probe.full_name,)):
                raise BenchmarkFailedError(death)
            # Once the probe has ended a controller goes to its safe mode, and rightly so.
            if not (lines and lines[-1].get("last")):
                _refuse_safe_mode(graph.processes)
            time.sleep(TICK)
        if not (ended and lines):
            said = "; ".join(f"{name}: {own.last_lines(1) or 'nothing'}" for name, own in graph.processes.items())
            raise BenchmarkFailedError(f"nothing was answered within {START_TIMEOUT:g} s, last output of {said}")
    return lines


def _refuse_safe_mode(processes: dict[str, NodeProcess]) -> None:
    for name, process in processes.items():
        for line in process.log.read_text(errors="replace").splitlines():
            if "safe mode," in line and process.running:
                raise BenchmarkFailedError(f"{name} did not keep commanding: {line}")
