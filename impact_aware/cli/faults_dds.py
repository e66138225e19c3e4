"""Faults over DDS: the real nodes as processes, the simulator behind a double of ros2_control's forward controller.

sim_robot -> joint_states -> fault_injector -> faulty/joint_states -> detector, predictor, rs_controller
sim_robot <- hardware_commands <- forward_command_controller <- effort_controller/commands <- rs_controller
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from impact_aware.cli.processes import NodeProcess, end_processes, quiet_environment
from impact_aware.errors import UnknownNameError
from impact_aware.graph import NodeSpec, SingleArmOptions, single_arm_graph
from impact_aware.robot import load_profile

START_TIMEOUT = 60.0
"""Longest time until the arm moves, s of wall time."""

SAFE_TIMEOUT = 30.0
"""Longest time until the arm is at rest after the fault began, s of wall time: a slow machine may need it."""

AT_REST = 0.02
"""rad/s."""

STATE_AGE = 0.15
"""Age limit of states for these runs, s: processes of a shared machine are not scheduled as on a robot's computer."""

STALLED = 0.6
"""How long a stalled process stands still, s of wall time."""


@dataclass(frozen=True)
class DdsFault:
    """What is done to the running nodes, and which reasons of the safe mode are right.

    Attributes:
        text: In words.
        reasons: Right ones.
        injected: Fault of the injector, or empty.
        victim: Process that is killed or stalled, or empty.
        stall: Whether it is stalled only.
        double: Whether the double of the forward controller is between controller and plant.
    """

    text: str
    reasons: tuple[str, ...]
    injected: str = ""
    victim: str = ""
    stall: bool = False
    double: bool = True


DDS_FAULTS = {
    "silence": DdsFault("no states at all", ("STATE_STALE",), "silence"),
    "nan": DdsFault("a position is NaN", ("STATE_STALE",), "nan"),
    "huge_velocity": DdsFault("a velocity is 1e6 rad/s", ("STATE_IMPLAUSIBLE",), "huge_velocity"),
    "missing": DdsFault("a joint is left out", ("JOINT_MISSING",), "missing"),
    "clock_forward": DdsFault("stamps are 2 to 100 s ahead", ("CLOCK_JUMP",), "clock_forward"),
    "controller_stalled": DdsFault(
        "the controller stands still", ("STATE_STALE", "CLOCK_JUMP"), victim="rs_controller", stall=True
    ),
    # A forward controller would go on with the last torque, and no brake would know: so without one.
    "controller_killed": DdsFault("the controller dies", (), victim="rs_controller", double=False),
    "detector_killed": DdsFault("the detector dies", ("UPSTREAM_LOST", "IMPACT_MISSED"), victim="impact_detector"),
    "field_killed": DdsFault("the field's node dies", ("UPSTREAM_LOST", "IMPACT_MISSED"), victim="reference_field"),
}
"""Faults that are tried over DDS; the others differ from one of them by nothing that DDS has a part in."""


def run_dds(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Run the faults that `args` names, one after the other.

    Raises:
        UnknownNameError: No such fault over DDS.
    """
    names = args.faults or list(DDS_FAULTS)
    for name in names:
        if name not in DDS_FAULTS:
            raise UnknownNameError("fault over DDS", name, tuple(DDS_FAULTS))
    domain = args.domain if args.domain is not None else 1 + os.getpid() % 100
    results = []
    for name in tqdm(names, desc="faults over DDS", unit="run", disable=args.json or not sys.stderr.isatty()):
        with tempfile.TemporaryDirectory(prefix="impact_aware_") as scratch:
            results.append(_DdsRun(name, args.seed, domain, Path(scratch)).run())
    summary = {"runs": len(results), "failed": sum(bool(r["failures"]) for r in results), "results": results}
    return summary, format_table(results)


def format_table(results: list[dict[str, Any]]) -> str:
    """A Markdown table, a row per run; `slowest` is the plant's lowest speed over wall time's."""
    head = ("fault", "what happens", "reason", "at rest", "recovered", "slowest", "failures")
    rows = [head, ("---",) * len(head)]
    for own in results:
        rest = "no" if own["rest_s"] is None else f"within {own['rest_s']:.1f} s"
        recovered = {True: "yes", False: "no", None: ""}[own["recovered"]]
        slowest = "" if own["real_time_factor"] is None else f"{own['real_time_factor']:.2f}"
        failures = "; ".join(own["failures"]) or "none"
        rows.append((f"`{own['fault']}`", own["text"], own["reason"], rest, recovered, slowest, failures))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def fault_graph(fault: DdsFault, seed: int) -> tuple[NodeSpec, ...]:
    """The single-arm graph with the injector before the suite and the double behind it."""
    options = SingleArmOptions(lockstep=False, markers=False, joint_states="faulty/joint_states", seed=seed)
    nodes = []
    for spec in single_arm_graph(options):
        if spec.executable == "sim_robot":
            commands = {"effort_controller/commands": "hardware_commands"} if fault.double else {}
            spec = dataclasses.replace(spec, remappings=commands)
        if spec.executable == "rs_controller":
            ages = {"state_age_limit": STATE_AGE, "state_timeout": 0.3}
            spec = dataclasses.replace(spec, parameters={**spec.parameters, **ages})
        nodes.append(spec)
    joints = list(load_profile("panda").joint_names)
    injected = {"fault": fault.injected or "silence", "duration": 0.4, "seed": seed}
    injected["after_motion"] = 0.2 if fault.injected else -1.0
    if fault.double:
        nodes.insert(0, NodeSpec("forward_command_controller", "effort_controller", parameters={"joints": joints}))
    return (NodeSpec("fault_injector", "fault_injector", parameters=injected), *nodes)


class _DdsRun:
    """The processes of one run."""

    def __init__(self, name: str, seed: int, domain: int, folder: Path) -> None:
        self.name, self.fault = name, DDS_FAULTS[name]
        self.failures: list[str] = []
        self.graph = fault_graph(self.fault, seed)
        self.environment = quiet_environment(domain)
        self.environment["ROS_LOG_DIR"] = str(folder)
        self.folder = folder
        self.processes: dict[str, NodeProcess] = {}
        self.latest: dict[str, dict[str, Any]] = {}
        self.slowest = math.inf

    def run(self) -> dict[str, Any]:
        reason, rest, recovered = "", None, None
        try:
            monitor = NodeSpec("run_monitor", "run_monitor")
            self.processes["run_monitor"] = NodeProcess(monitor, self.environment, self.folder, talk=True)
            for spec in self.graph:
                self.processes[spec.name] = NodeProcess(spec, self.environment, self.folder)
            # An injected fault begins by itself, and may have done its work before a busy machine tells of the motion.
            begun = ("ANTE", "INTERIM", "POST", *(("SAFE",) if self.fault.injected else ()))
            if not self._wait(lambda: self._mode() in begun, START_TIMEOUT):
                self.failures.append(f"the arm never moved (mode {self._mode() or 'unknown'}): {self._excuses()}")
            else:
                self._do()
                reason, rest = self._watch()
                recovered = self._recover() if self.fault.victim in ("", "rs_controller") and self._alive() else None
            self._check_alive()
        finally:
            killed = end_processes(self.processes.values())
            for process in self.processes.values():
                process.close()
        if killed:
            self.failures.append(f"had to be killed at the end: {', '.join(killed)}")
        return {
            "fault": self.name,
            "text": self.fault.text,
            "reason": reason,
            "rest_s": rest,
            "recovered": recovered,
            "real_time_factor": self.slowest if math.isfinite(self.slowest) else None,
            "failures": self.failures,
        }

    def _do(self) -> None:
        """Kill or stall the victim; the injector begins by itself."""
        if not self.fault.victim:
            return
        victim = self.processes[self.fault.victim]
        victim.signal(signal.SIGSTOP if self.fault.stall else signal.SIGKILL)
        if self.fault.stall:
            time.sleep(STALLED)
            victim.signal(signal.SIGCONT)

    def _watch(self) -> tuple[str, float | None]:
        """Until the arm is at rest: the reason, and how long after the begin of the safe mode, s of its own time."""
        controller_dies = self.fault.victim == "rs_controller" and not self.fault.stall
        stopped: float | None = None

        def at_rest() -> bool:
            nonlocal stopped
            plant = self.latest.get("sim_robot", {})
            safe = plant.get("arm") == "brake" if controller_dies else self._mode() == "SAFE"
            now = float(plant.get("time", 0.0))
            if safe and stopped is None:
                stopped = now
            return safe and float(plant.get("largest_speed", 1.0)) < AT_REST

        if not self.fault.injected:
            # What was told before a process died says nothing of afterwards.
            self.latest.clear()
        if not self._wait(at_rest, SAFE_TIMEOUT):
            plant = self.latest.get("sim_robot", {})
            self.failures.append(f"not at rest: mode {self._mode()}, speed {plant.get('largest_speed')} rad/s")
            return self._reason(), None
        rest = float(self.latest["sim_robot"]["time"]) - float(stopped or 0.0)
        reason = "" if controller_dies else self._reason()
        if not controller_dies and reason not in self.fault.reasons:
            self.failures.append(f"reason {reason or 'none'}, expected {' or '.join(self.fault.reasons)}")
        # The plant tells of itself ten times a second: begin and end are known to 0.1 s each.
        if rest > 1.2:
            self.failures.append(f"at rest only {rest:.1f} s after the safe mode began")
        return reason, round(rest, 2)

    def _recover(self) -> bool:
        """Asked to leave the safe mode, the controller holds; of a killed one there is nothing to ask."""
        injector = self.latest.get("fault_injector", {})
        self._wait(lambda: self.latest.get("fault_injector", injector).get("acting") == "False", 5.0)
        deadline = time.monotonic() + 5.0
        while time.monotonic() < deadline:
            self.processes["run_monitor"].write_line("reset")
            if self._wait(lambda: self._mode() == "IDLE", 0.8):
                return True
        self.failures.append(f"did not leave the safe mode when asked (mode {self._mode()})")
        return False

    def _wait(self, condition: Callable[[], bool], patience: float) -> bool:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            for line in self.processes["run_monitor"].read_lines():
                self.latest[str(line.get("node", "")).rpartition("/")[2].partition(":")[0]] = line
                speed = float(line.get("real_time_factor", "nan"))
                self.slowest = min(self.slowest, speed) if math.isfinite(speed) else self.slowest
            if condition():
                return True
            time.sleep(0.01)
        return False

    def _mode(self) -> str:
        return str(self.latest.get("rs_controller", {}).get("mode", ""))

    def _reason(self) -> str:
        return str(self.latest.get("rs_controller", {}).get("reason", ""))

    def _alive(self) -> bool:
        return self.processes["rs_controller"].running

    def _check_alive(self) -> None:
        meant = self.fault.victim if not self.fault.stall else ""
        for name, process in self.processes.items():
            if name != meant and not process.running:
                self.failures.append(f"{name} {process.ending()}: {process.last_words(1)}")

    def _excuses(self) -> str:
        return "; ".join(f"{name}: {process.last_words(1)}" for name, process in self.processes.items())[:400]
