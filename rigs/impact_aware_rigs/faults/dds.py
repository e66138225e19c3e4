"""Dead and stalled nodes over DDS: real processes, the simulator behind an emulated forward controller of ros2_control.

sim_robot -> joint_states -> lockstep_relay -> passed/joint_states -> detector, predictor, rs_controller
sim_robot <- hardware_commands <- forward_command_controller <- effort_controller/commands <- rs_controller

Everything runs in lockstep. A plant that keeps wall time at 1 kHz beside six Python processes goes to the safe mode on
two busy cores before any fault begins, as its commands come late. In lockstep the plant's time stands still instead,
and requirements hold in that time: `rs_controller` follows the plant's clock (`use_sim_time`), so that the limit of a
state's age is the 20 ms of a real robot. `lockstep_relay` is the plant's only partner.
It waits for the nodes that got a state, gives up on one that was killed or stalled after 1.2 s of wall time, and lets
the plant go on without it at 24 ms of wall time per cycle. What the nodes count in wall time is scaled by that: a
state_timeout of 2.4 s is the usual 0.1 s of the plant's time. No figure of wall time is below 1.2 s: a busy machine
holds single processes up for half a second and more, which is no fault.

The emulator writes its last command once per state of the plant: commands act a cycle after they were published, as
with ros2_control's controller manager. Where the commands are watched it also offers the services of a controller
manager to `command_watchdog`, which waits 1.68 s of wall time for a command: 1.2 s until `lockstep_relay` gives up on a
dead node, and 20 ms of the plant's. With laws (`--interface local_law`) there is no emulator: the plant applies them in
each of its cycles, and damps itself when they end.

Of a KUKA, `kuka_fri_relay` and an emulated lbr_torque_command_controller take the forward controller's place, as
config/hardware/kuka_fri.yaml has them. The relay answers states like the suite; its time-out of 10 ms is 1.44 s then.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import signal
import sys
from typing import Any

import numpy as np
from tqdm import tqdm

from impact_aware.bringup.graph import SingleArmOptions, single_arm_graph
from impact_aware.bringup.hardware import load_hardware
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.errors import UnknownNameError
from impact_aware.robot import RobotModel, load_profile
from impact_aware_rigs.faults.dds_classes import DDS_FAULTS, RELAY, DdsFault
from impact_aware_rigs.figures import markdown_table
from impact_aware_rigs.graph_run import GraphRun

START_TIMEOUT = 120.0
"""Longest time until the arm moves, s of wall time; a busy machine starts six Python processes slowly."""

MOST_STARTS = 2
"""Starts until the arm has to move."""

END_TIMEOUT = 180.0
"""Longest time from the fault to its outcome, s of wall time."""

AT_REST = 0.02
"""rad/s."""

REST_WITHIN = 1.0
"""From the begin of the safe mode on, s of the plant's time."""

STATE_TIMEOUT = 2.4
"""Timeout of rs_controller, s of wall time: 0.1 s of the plant's at the pace of `lockstep_relay`."""

WATCHED = {"command_timeout": 1.68, "repeat_timeout": 0.0}
"""Timeouts of command_watchdog, s of wall time; the plant stands still now and then, and so do commands."""

RELAYED = {"command_timeout": 1.44, "state_timeout": 1.8, "period": 0.001}
"""Parameters of kuka_fri_relay: 10 and 25 ms of the plant's time, whose cycles are half as long as a KUKA's."""

EMULATORS = {False: "effort_controller", True: "lbr_torque_command_controller"}
"""Names of the emulated controllers, without and with a relay."""

WATCHDOG_TIMEOUT = 1.2
"""Timeout of rs_controller for the watchdog's heartbeat, s of wall time."""
HELD_AT_MOST = 30
"""Cycles of the plant, of 1 ms, for which a dead controller's last torque may go on."""

STALL = 0.06
"""How long a stalled process stands still, s of the plant's time."""

STRUCK_AFTER = 0.2
"""When a process is killed or stalled after the motion began, s of the plant's time."""

SUITE = ("impact_detector", "jump_predictor", "rs_controller")
"""Nodes that answer every state."""


def run_dds(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Run the faults that `args` names, one after the other.

    Raises:
        UnknownNameError: No such fault over DDS.
    """
    # Laws expire by themselves, without a watchdog.
    known = tuple(name for name, fault in DDS_FAULTS.items() if args.interface == "effort" or not fault.watched)
    names = args.faults or known
    for name in names:
        if name not in known:
            raise UnknownNameError("fault over DDS", name, known)
    results = []
    for name in tqdm(names, desc="faults over DDS", unit="run", disable=args.json or not sys.stderr.isatty()):
        results.append(DdsRun(name, args.seed, args.domain, args.interface).run())
    failed = sum(bool(result["failures"]) for result in results)
    summary = {"runs": len(results), "interface": args.interface, "failed": failed, "results": results}
    return summary, format_table(results)


def format_table(results: list[dict[str, Any]]) -> str:
    """A Markdown table, a row per run; `torque, rate` are the largest that were commanded, of their limits."""
    rows = []
    for own in results:
        rest = "" if own["rest_s"] is None else f"after {own['rest_s']:.2f} s"
        shares = "" if own["effort_share"] is None else f"{own['effort_share']:.2f}, {own['rate_share']:.2f}"
        failures = "; ".join(own["failures"]) or "none"
        outcome = own["outcome"] + (f", at start {own['starts']}" if own["spoilt_starts"] else "")
        rows.append((f"`{own['fault']}`", own["text"], outcome, rest, own["recovered"], shares, failures))
    head = ("fault", "what happens", "outcome", "at rest", "recovered", "torque, rate", "failures")
    return markdown_table(head, rows)


def fault_graph(fault: DdsFault, seed: int, interface: str = "effort") -> tuple[NodeSpec, ...]:
    """The single-arm graph in lockstep with the relay of states before the suite and the emulator behind it.

    Laws have no emulator behind them: the plant applies them itself.
    """
    options = SingleArmOptions(
        lockstep=True,
        markers=False,
        joint_states="passed/joint_states",
        seed=seed,
        command_interface=interface,
        watchdog=fault.watched and interface == "effort",
    )
    if fault.relay:
        options = _of_a_kuka(options)
    emulator = fault.emulator and interface == "effort"
    changes: dict[str, dict[str, Any]] = {
        RELAY: RELAYED,
        "sim_robot": {"lockstep_participants": ["lockstep_relay"], "displacement": list(fault.displacement)},
        "rs_controller": {"use_sim_time": True, "state_timeout": STATE_TIMEOUT, "watchdog_timeout": WATCHDOG_TIMEOUT},
        "command_watchdog": WATCHED,
        # A displaced object has no pose messages.
        "reference_field": {"use_object_pose": not any(fault.displacement)},
    }
    nodes = []
    for spec in single_arm_graph(options):
        parameters, remappings = spec.parameters | changes.get(spec.executable, {}), dict(spec.remappings)
        if spec.executable in (*SUITE, RELAY):
            remappings["step_done"] = "passed/step_done"
        if spec.executable == "sim_robot":
            # The plant has the robot's own topics on both sides.
            remappings = {"effort_controller/commands": "hardware_commands"} if emulator else {}
        nodes.append(dataclasses.replace(spec, parameters=parameters, remappings=remappings))
    answering = {"participants": [*SUITE, RELAY] if fault.relay else list(SUITE), "after_motion": STRUCK_AFTER}
    nodes.insert(0, NodeSpec("lockstep_relay", "lockstep_relay", parameters=answering))
    if emulator:
        forward = {"joints": list(load_profile(options.robot).joint_names), "lockstep": True}
        forward |= {"controller_manager": "controller_manager"} if options.watchdog else {}
        name = EMULATORS[fault.relay]
        executable = name if fault.relay else "forward_command_controller"
        nodes.insert(0, NodeSpec(executable, name, parameters=forward))
    return tuple(nodes)


def _of_a_kuka(options: SingleArmOptions) -> SingleArmOptions:
    """Options of the graph with a KUKA's relay in it."""
    kuka = load_hardware("kuka_fri")
    return dataclasses.replace(
        options, commands=kuka.commands, controller=kuka.controller, relay=kuka.relay, component=kuka.component
    )


class DdsRun:
    """One fault in a running graph."""

    def __init__(self, name: str, seed: int, domain: int | None = None, interface: str = "effort") -> None:
        """Prepare; nothing is started yet."""
        self.name, self.fault, self.seed, self.interface = name, DDS_FAULTS[name], seed, interface
        self.failures: list[str] = []
        self._domain = domain
        self.graph = GraphRun(domain=domain)

    def run(self) -> dict[str, Any]:
        """Start the graph, strike, check the outcome, recover, end the graph."""
        result: dict[str, Any] = {"fault": self.name, "text": self.fault.text, "outcome": "", "rest_s": None}
        result |= {"recovered": "", "effort_share": None, "rate_share": None, "held_ms": None, "starts": 0}
        result["spoilt_starts"] = []
        begun = False
        # A motion that does not begin ends before there is a fault; why it did not is kept.
        while not begun and result["starts"] < MOST_STARTS:
            result["spoilt_starts"], self.failures = result["spoilt_starts"] + self.failures, []
            result["starts"] += 1
            with self.graph as graph:
                graph.start(NodeSpec("run_monitor", "run_monitor"), listener=True)
                graph.start(*fault_graph(self.fault, self.seed, self.interface))
                begun = graph.wait(lambda: graph.reported("lockstep_relay", "begun") == "True", START_TIMEOUT)
                if begun:
                    self._strike()
                    result["outcome"], result["rest_s"] = self._watch()
                    result["held_ms"] = self._held()
                    result["recovered"] = self._recover(result["outcome"])
                    result["effort_share"], result["rate_share"] = self._shares()
                else:
                    why = f"mode {self._mode or 'unknown'} {self._reason} {graph.reported('rs_controller', 'detail')}"
                    self.failures.append(f"no motion ({why.rstrip()}): {graph.last_lines()}")
                self._check_alive()
            if graph.killed:
                self.failures.append(f"had to be killed at the end: {graph.hung}")
            if not begun:
                self.graph = GraphRun(domain=self._domain)
        return result | {"failures": self.failures}

    # The fault

    def _strike(self) -> None:
        """Kill or stall the victim; an object that is gone has none."""
        if not self.fault.victim:
            return
        victim = self.graph.processes[self.fault.victim]
        if self.fault.stall:
            victim.signal(signal.SIGSTOP)
            until = self._time + STALL
            self.graph.wait(lambda: self._time >= until, END_TIMEOUT)
            victim.signal(signal.SIGCONT)
            return
        if self.fault.stopped:
            victim.signal(signal.SIGSTOP)
            self.graph.latest.pop(self.fault.victim, None)
            return
        victim.signal(signal.SIGKILL)
        victim.process.wait()
        # Reports of the process from before its death no longer hold.
        self.graph.latest.pop(self.fault.victim, None)
        if self.fault.restart and self.fault.victim != "rs_controller":
            self.graph.restart(self.fault.victim)

    def _watch(self) -> tuple[str, float | None]:
        """Until it is decided: the outcome, and from the begin of the safe mode to rest, s of the plant's time."""
        died = self.fault.controller_dead
        stopped: float | None = None
        moving = -math.inf

        def decided() -> bool:
            nonlocal stopped, moving
            safe = self._braked if died else self._mode == "SAFE"
            if safe and stopped is None:
                stopped = self._time
            quiet = float(self.graph.reported("sim_robot", "largest_speed") or 1.0) < AT_REST
            if not quiet:
                moving = self._time
            return quiet and (safe or self.graph.reported("rs_controller", "done") == "True")

        if not self.graph.wait(decided, END_TIMEOUT):
            speed = self.graph.reported("sim_robot", "largest_speed")
            self.failures.append(f"neither at rest nor done: mode {self._mode}, speed {speed} rad/s")
            return self._reason, None
        alone = f"held by {RELAY}" if self.fault.relay else "braked by the robot"
        outcome = alone if died else self._reason or "done"
        if not died:
            if self._reason not in self.fault.reasons:
                words = " or ".join(reason or "none" for reason in sorted(self.fault.reasons))
                self.failures.append(f"reason {self._reason or 'none'}, expected {words}")
        if stopped is None:
            return outcome, None
        # Two reports may be far apart on a busy machine; the motion between them is unknown.
        if moving - stopped > REST_WITHIN:
            self.failures.append(f"still moving {moving - stopped:.2f} s after the safe mode began")
        return outcome, round(self._time - stopped, 3)

    # Afterwards

    def _recover(self, outcome: str) -> str:
        """Request the recovery that the outcome allows; returns which."""
        if self.fault.stopped:
            # Else it could not be ended.
            self.graph.processes[self.fault.victim].signal(signal.SIGKILL)
        if self.fault.controller_dead:
            if not self.fault.restart:
                return ""
            self.graph.restart(self.fault.victim)
            if self.graph.wait(lambda: self._mode in ("ANTE", "INTERIM", "POST"), START_TIMEOUT):
                return "moves after a new start"
            self.failures.append(f"the new controller does not move (mode {self._mode}): {self.graph.last_lines()}")
            return "no"
        if outcome == "done":
            return "not needed"
        if self.fault.restart and not self.graph.wait(self._all_answer, START_TIMEOUT):
            self.failures.append(f"{self.fault.victim} does not answer after its new start")
        if not self._ask("reset", ("IDLE",)):
            self.failures.append(f"did not leave the safe mode on request (mode {self._mode})")
            return "no"
        if not self.fault.can_go_on:
            return "reset"
        if not self._ask("start", ("ANTE", "INTERIM", "POST")):
            self.failures.append(f"did not move again on request (mode {self._mode}): {self.graph.last_lines()}")
            return "reset"
        return "reset, moves again"

    def _all_answer(self) -> bool:
        if self.fault.victim == "command_watchdog":
            return self.graph.reported(self.fault.victim, "level") == "0"
        return not self.graph.reported("lockstep_relay", "absent")

    def _ask(self, request: str, modes: tuple[str, ...]) -> bool:
        """Ask the controller until it is in one of these modes, or has ended."""
        graph, controller = self.graph, self.graph.processes["rs_controller"]
        graph.ask(request, lambda: self._mode in modes or not controller.running, START_TIMEOUT, 2.0)
        return self._mode in modes

    def _held(self) -> int | None:
        """Time from a node's death until its last torque was stopped, ms of the plant's time."""
        fault, graph = self.fault, self.graph
        if not (fault.controller_dead or fault.victim == RELAY) or not fault.watched or self.interface != "effort":
            return None
        emulator = EMULATORS[fault.relay]
        damped = fault.relay and fault.controller_dead
        # Only the end of its session with the arm stops a KUKA.
        active = "component_active" if fault.relay else "active"
        if not damped and not graph.wait(lambda: graph.reported(emulator, active) == "False", START_TIMEOUT):
            self.failures.append("no node deactivated the controller of the arm")
            return None
        if not graph.wait(lambda: graph.reported(emulator, "held_late") not in ("", "0"), START_TIMEOUT):
            self.failures.append("no torque was held: was anybody late?")
            return None
        held = int(graph.reported(emulator, "held_late"))
        if held > HELD_AT_MOST:
            self.failures.append(f"the last torque was held for {held} ms")
        if damped:
            if not graph.reported(RELAY, "message").startswith("holding the arm: no command for "):
                self.failures.append("the relay does not say that it damps the arm")
        elif not graph.wait(lambda: graph.reported("command_watchdog", "stopped") == "True", START_TIMEOUT):
            self.failures.append("the watchdog does not say that it stopped the arm")
        return held

    def _shares(self) -> tuple[float | None, float | None]:
        """Largest torque, and change of torque from one command to the next, that the emulator got, of their limits."""
        if not self.fault.emulator or self.interface != "effort":
            return None, None
        limits = RobotModel.from_profile("panda").limits
        shares = []
        for key, limit in (("largest", limits.effort), ("largest_change", 1e-3 * limits.effort_rate)):
            emulator = EMULATORS[self.fault.relay]
            values = np.array([float(word) for word in self.graph.reported(emulator, key).split()])
            shares.append(float((values / limit).max()) if values.shape == limit.shape else float("nan"))
        effort, rate = shares
        # Rounding of the figures as they are reported.
        if not (effort <= 1.0 + 1e-4 and rate <= 1.0 + 1e-4):
            self.failures.append(f"commands beyond their limits: torque {effort:.3f}, torque rate {rate:.3f}")
        return effort, rate

    def _check_alive(self) -> None:
        meant = self.fault.victim if not (self.fault.stall or self.fault.restart) else ""
        self.failures += self.graph.died(exempt=(meant,))
        if self.fault.emulator and self.graph.reported("sim_robot", "lockstep") == "False":
            self.failures.append("the plant gave up lockstep")

    # What is known

    @property
    def _mode(self) -> str:
        return self.graph.reported("rs_controller", "mode")

    @property
    def _reason(self) -> str:
        return self.graph.reported("rs_controller", "reason") if self._mode == "SAFE" else ""

    @property
    def _time(self) -> float:
        """Time of the plant, s."""
        return float(self.graph.reported("sim_robot", "time") or 0.0)

    @property
    def _braked(self) -> bool:
        """Whether the robot brakes by itself, from its torques or without a valid law, or its relay holds it."""
        if self.fault.relay:
            return self.graph.reported(RELAY, "message").startswith("holding the arm")
        if self.interface == "effort":
            return self.graph.reported("sim_robot", "arm") == "brake"
        return bool(self.graph.reported("sim_robot", "damped"))
