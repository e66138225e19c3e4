"""Faults over DDS: the real nodes as processes, the simulator behind a double of ros2_control's forward controller.

sim_robot -> joint_states -> fault_injector -> faulty/joint_states -> detector, predictor, rs_controller
sim_robot <- hardware_commands <- forward_command_controller <- effort_controller/commands <- rs_controller

Everything runs in lockstep. A plant that keeps wall time at 1 kHz beside six Python processes goes to the safe mode on
two busy cores before any fault begins, as its commands come late. In lockstep the plant's time stands still instead,
and what is asked of the suite is asked in that time: `rs_controller` follows the plant's clock (`use_sim_time`), so
that the age of a state is judged by the 20 ms that a robot would have. The fault injector is the plant's only partner.
It waits for the nodes that got a usable state, gives up on one that was killed or stalled after 0.4 s of wall time, and
lets the plant go on without it at 8 ms of wall time per cycle; so it does when it passes nothing on. What the nodes
count in wall time is scaled by that: a state_timeout of 0.8 s is the usual 0.1 s of the plant's time, and a liveliness
lease of 2 s ends after 0.2 s of it.

The double writes its last command once per state of the plant: commands act a cycle after they were published, as with
ros2_control's controller manager.
"""

from __future__ import annotations

import argparse
import dataclasses
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from impact_aware.bringup.domain import own_domain
from impact_aware.bringup.graph import NodeSpec, SingleArmOptions, single_arm_graph
from impact_aware.bringup.processes import NodeProcess, end_processes, quiet_environment
from impact_aware.errors import UnknownNameError
from impact_aware.rigs.faults.dds_classes import DDS_FAULTS, DdsFault, right_reasons
from impact_aware.robot import RobotModel, load_profile

START_TIMEOUT = 120.0
"""Longest time until the arm moves, s of wall time; a busy machine starts six Python processes slowly."""

END_TIMEOUT = 180.0
"""Longest time from the fault to its outcome, s of wall time."""

AT_REST = 0.02
"""rad/s."""

REST_WITHIN = 1.0
"""From the begin of the safe mode on, s of the plant's time; known to `RESOLUTION`."""

RESOLUTION = 0.1
"""The plant tells of itself ten times a second of wall time, in which it makes less than this, s."""

STATE_TIMEOUT = 0.8
"""Of rs_controller, s of wall time: 0.1 s of the plant's at the pace of the fault injector."""

STALL = 0.06
"""How long a stalled process stands still, s of the plant's time."""

FAULT_AFTER = 0.2
"""When an injected fault begins after the motion did, s of the plant's time."""

FAULT_DURATION = 0.3
"""How long it lasts, s of the plant's time."""

SUITE = ("impact_detector", "jump_predictor", "rs_controller")
"""Nodes that answer every state."""


def run_dds(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Run the faults that `args` names, one after the other.

    Raises:
        UnknownNameError: No such fault over DDS.
    """
    names = args.faults or list(DDS_FAULTS)
    for name in names:
        if name not in DDS_FAULTS:
            raise UnknownNameError("fault over DDS", name, tuple(DDS_FAULTS))
    results = []
    for name in tqdm(names, desc="faults over DDS", unit="run", disable=args.json or not sys.stderr.isatty()):
        with tempfile.TemporaryDirectory(prefix="impact_aware_") as scratch, own_domain(args.domain) as domain:
            results.append(DdsRun(name, args.seed, domain, Path(scratch)).run())
    summary = {"runs": len(results), "failed": sum(bool(r["failures"]) for r in results), "results": results}
    return summary, format_table(results)


def format_table(results: list[dict[str, Any]]) -> str:
    """A Markdown table, a row per run; `torque, rate` are the largest that were commanded, of their limits."""
    head = ("fault", "what happens", "outcome", "at rest", "recovered", "torque, rate", "failures")
    rows = [head, ("---",) * len(head)]
    for own in results:
        rest = "" if own["rest_s"] is None else f"after {own['rest_s']:.2f} s"
        shares = "" if own["effort_share"] is None else f"{own['effort_share']:.2f}, {own['rate_share']:.2f}"
        failures = "; ".join(own["failures"]) or "none"
        rows.append((f"`{own['fault']}`", own["text"], own["outcome"], rest, own["recovered"], shares, failures))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def fault_graph(fault: DdsFault, seed: int) -> tuple[NodeSpec, ...]:
    """The single-arm graph in lockstep with the injector before the suite and the double behind it."""
    options = SingleArmOptions(lockstep=True, markers=False, joint_states="faulty/joint_states", seed=seed)
    nodes = []
    for spec in single_arm_graph(options):
        parameters, remappings = dict(spec.parameters), dict(spec.remappings)
        if spec.executable in SUITE:
            remappings["step_done"] = "faulty/step_done"
        if spec.executable == "sim_robot":
            # The plant has the robot's own topics on both sides.
            remappings = {"effort_controller/commands": "hardware_commands"} if fault.double else {}
            parameters["lockstep_participants"] = ["fault_injector"]
            parameters["displacement"] = list(fault.displacement)
        if spec.executable == "rs_controller":
            parameters |= {"use_sim_time": True, "state_timeout": STATE_TIMEOUT}
        if spec.executable == "reference_field":
            if fault.injected.startswith("prediction_"):
                remappings["predicted_jumps"] = "faulty/predicted_jumps"
            # Nobody tells of an object that is gone.
            parameters["use_object_pose"] = not any(fault.displacement)
        nodes.append(dataclasses.replace(spec, parameters=parameters, remappings=remappings))
    injector = {"fault": fault.injected or "none", "duration": FAULT_DURATION, "seed": seed}
    if fault.injected.startswith("prediction_"):
        injector["duration"] = 100.0
    injector |= {"after_motion": FAULT_AFTER, "lockstep_participants": list(SUITE)}
    nodes.insert(0, NodeSpec("fault_injector", "fault_injector", parameters=injector))
    if fault.double:
        joints = {"joints": list(load_profile(options.robot).joint_names), "lockstep": True}
        nodes.insert(0, NodeSpec("forward_command_controller", "effort_controller", parameters=joints))
    return tuple(nodes)


class DdsRun:
    """The processes of one run."""

    def __init__(self, name: str, seed: int, domain: int, folder: Path) -> None:
        """Prepare; nothing is started yet."""
        self.name, self.fault, self.seed = name, DDS_FAULTS[name], seed
        self.failures: list[str] = []
        self.graph = fault_graph(self.fault, seed)
        self.environment = quiet_environment(domain)
        self.environment["ROS_LOG_DIR"] = str(folder)
        self.folder = folder
        self.processes: dict[str, NodeProcess] = {}
        self.ended: list[NodeProcess] = []
        self.latest: dict[str, dict[str, Any]] = {}

    def run(self) -> dict[str, Any]:
        """Start everything, let the fault happen, judge, recover, end everything."""
        result: dict[str, Any] = {"fault": self.name, "text": self.fault.text, "outcome": "", "rest_s": None}
        result |= {"recovered": "", "effort_share": None, "rate_share": None}
        try:
            monitor = NodeSpec("run_monitor", "run_monitor")
            self.processes["run_monitor"] = NodeProcess(monitor, self.environment, self.folder, talk=True)
            for spec in self.graph:
                self.processes[spec.name] = NodeProcess(spec, self.environment, self.folder)
            if not self._wait(lambda: self._of("fault_injector", "begun") == "True", START_TIMEOUT):
                self.failures.append(f"no motion (mode {self._mode or 'unknown'}): {self._excuses()}")
            else:
                self._strike()
                result["outcome"], result["rest_s"] = self._watch()
                result["recovered"] = self._recover(result["outcome"])
                result["effort_share"], result["rate_share"] = self._shares()
            self._check_alive()
        finally:
            killed = end_processes(self.processes.values())
            for process in (*self.processes.values(), *self.ended):
                process.close()
        if killed:
            self.failures.append(f"had to be killed at the end: {', '.join(killed)}")
        return result | {"failures": self.failures}

    # The fault

    def _strike(self) -> None:
        """Kill or stall the victim; what is injected began by itself."""
        if not self.fault.victim:
            return
        victim = self.processes[self.fault.victim]
        if self.fault.stall:
            victim.signal(signal.SIGSTOP)
            until = self._time + STALL
            self._wait(lambda: self._time >= until, END_TIMEOUT)
            victim.signal(signal.SIGCONT)
            return
        victim.signal(signal.SIGKILL)
        victim.process.wait()
        # What was told before a process died says nothing of afterwards.
        self.latest.pop(self.fault.victim, None)
        if self.fault.restart and self.fault.victim != "rs_controller":
            self._restart()

    def _restart(self) -> None:
        """Start the victim anew, with a log of its own."""
        victim = self.fault.victim
        folder = self.folder / "restarted"
        folder.mkdir()
        self.ended.append(self.processes[victim])
        self.processes[victim] = NodeProcess(self.processes[victim].spec, self.environment, folder)

    def _watch(self) -> tuple[str, float | None]:
        """Until it is decided: the outcome, and from the begin of the safe mode to rest, s of the plant's time."""
        died = self._controller_died
        stopped: float | None = None

        def decided() -> bool:
            nonlocal stopped
            safe = self._of("sim_robot", "arm") == "brake" if died else self._mode == "SAFE"
            if safe and stopped is None:
                stopped = self._time
            quiet = float(self._of("sim_robot", "largest_speed") or 1.0) < AT_REST
            return quiet and (safe or self._of("rs_controller", "done") == "True")

        if not self._wait(decided, END_TIMEOUT):
            speed = self._of("sim_robot", "largest_speed")
            self.failures.append(f"neither at rest nor done: mode {self._mode}, speed {speed} rad/s")
            return self._reason, None
        outcome = "braked by the robot" if died else self._reason or "done"
        if not died:
            right = right_reasons(self.name, self.seed, FAULT_DURATION)
            if self._reason not in right:
                words = " or ".join(reason or "none" for reason in sorted(right))
                self.failures.append(f"reason {self._reason or 'none'}, expected {words}")
        if stopped is None:
            return outcome, None
        rest = self._time - stopped
        if rest > REST_WITHIN + RESOLUTION:
            self.failures.append(f"at rest only {rest:.2f} s after the safe mode began")
        return outcome, round(rest, 3)

    # Afterwards

    def _recover(self, outcome: str) -> str:
        """Ask for what leads on; returns what that was."""
        if self._controller_died:
            if not self.fault.restart:
                return ""
            self._restart()
            if self._wait(lambda: self._mode in ("ANTE", "INTERIM", "POST"), START_TIMEOUT):
                return "moves after a new start"
            self.failures.append(f"the new controller does not move (mode {self._mode}): {self._excuses()}")
            return "no"
        if outcome == "done":
            return "not needed"
        self._wait(lambda: self._of("fault_injector", "acting") == "False", END_TIMEOUT)
        if self.fault.restart and not self._wait(lambda: not self._of("fault_injector", "absent"), START_TIMEOUT):
            self.failures.append(f"{self.fault.victim} does not answer after its new start")
        if not self._ask("reset", ("IDLE",)):
            self.failures.append(f"did not leave the safe mode when asked (mode {self._mode})")
            return "no"
        if not self.fault.can_go_on:
            return "reset"
        if not self._ask("start", ("ANTE", "INTERIM", "POST")):
            self.failures.append(f"did not move again when asked (mode {self._mode}): {self._excuses()}")
            return "reset"
        return "reset, moves again"

    def _ask(self, request: str, modes: tuple[str, ...]) -> bool:
        """Ask the controller until it is in one of these modes."""
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline and self.processes["rs_controller"].running:
            self.processes["run_monitor"].write_line(request)
            if self._wait(lambda: self._mode in modes, 2.0):
                return True
        return False

    def _shares(self) -> tuple[float | None, float | None]:
        """Largest torque, and change of torque from one command to the next, that the double got, of their limits."""
        if not self.fault.double:
            return None, None
        limits = RobotModel.from_profile("panda").limits
        shares = []
        for key, limit in (("largest", limits.effort), ("largest_change", 1e-3 * limits.effort_rate)):
            values = np.array([float(word) for word in self._of("effort_controller", key).split()])
            shares.append(float((values / limit).max()) if values.shape == limit.shape else float("nan"))
        effort, rate = shares
        # Rounding of the figures as they are told.
        if not (effort <= 1.0 + 1e-4 and rate <= 1.0 + 1e-4):
            self.failures.append(f"commands beyond their limits: torque {effort:.3f}, torque rate {rate:.3f}")
        return effort, rate

    def _check_alive(self) -> None:
        meant = self.fault.victim if not (self.fault.stall or self.fault.restart) else ""
        for name, process in self.processes.items():
            if name != meant and not process.running:
                self.failures.append(f"{name} {process.ending()}: {process.last_words(1)}")
        if self.fault.double and self._of("sim_robot", "lockstep") == "False":
            self.failures.append("the plant gave up lockstep")

    # What is known

    def _wait(self, condition: Callable[[], bool], patience: float) -> bool:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            for line in self.processes["run_monitor"].read_lines():
                self.latest[str(line.get("node", "")).rpartition("/")[2].partition(":")[0]] = line
            if condition():
                return True
            time.sleep(0.01)
        return False

    def _of(self, node: str, key: str) -> str:
        return str(self.latest.get(node, {}).get(key, ""))

    @property
    def _mode(self) -> str:
        return self._of("rs_controller", "mode")

    @property
    def _reason(self) -> str:
        return self._of("rs_controller", "reason") if self._mode == "SAFE" else ""

    @property
    def _time(self) -> float:
        """Of the plant, s."""
        return float(self._of("sim_robot", "time") or 0.0)

    @property
    def _controller_died(self) -> bool:
        return self.fault.victim == "rs_controller" and not self.fault.stall

    def _excuses(self) -> str:
        return "; ".join(f"{name}: {process.last_words(1)}" for name, process in self.processes.items())[:400]
