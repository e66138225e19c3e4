"""The processes of one demo: started together, watched until the task is done, and ended."""

from __future__ import annotations

import math
import signal
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from impact_aware.bringup.node_spec import NONE, NodeSpec, in_one_process, with_companions
from impact_aware.bringup.processes import NodeProcess, end_processes, quiet_environment
from impact_aware.cli.output import progress
from impact_aware.errors import ImpactAwareError

if TYPE_CHECKING:
    from tqdm import tqdm

START_TIMEOUT = 300.0
"""Longest time until the controller is active, s: without caches and beside others, all nodes compile before."""

SAFE_TIMEOUT = 10.0
"""Longest time that the arm may take to come to rest after a node died, s."""

AT_REST = 0.02
"""Joint speed below which the arm counts as at rest, rad/s."""


class DemoFailedError(ImpactAwareError):
    """The run did not reach its end; the message gives the cause and the final state of the arm."""


class Demo:
    """The processes of one run."""

    def __init__(
        self,
        graph: tuple[NodeSpec, ...],
        folder: Path,
        domain: int,
        *,
        sharing: str = NONE,
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            graph: The nodes.
            folder: Where the bag and the logs go.
            domain: ROS domain.
            sharing: Which nodes share a process.
        """
        recording: dict[str, Any] = {"bag": str(folder / "bag"), "time_of_states": True}
        if any(spec.parameters.get("realtime_priority") for spec in graph):
            # Below the loop, and before all who have no priority: it takes little, and what it misses is lost.
            recording["realtime_priority"] = 1
        plant = next((spec.parameters for spec in graph if spec.executable == "sim_robot"), {})
        recording |= {"links_of": plant["task"], "robot": plant.get("robot", "panda")} if plant else {}
        recorder = NodeSpec("bag_recorder", "bag_recorder", parameters=recording)
        self._monitor_spec, *nodes = with_companions((NodeSpec("run_monitor", "run_monitor"), recorder, *graph))
        self._graph = tuple(nodes)
        self._specs = in_one_process(self._graph, sharing)
        holds = {own.executable: spec.full_name for spec in self._specs for own in (spec, *spec.members)}
        self._controller = holds["rs_controller"]
        self._folder = folder
        self._domain = domain
        self._processes: dict[str, NodeProcess] = {}
        self._latest: dict[str, dict[str, Any]] = {}
        self._plant_at_start: dict[str, Any] = {}

    @property
    def plant(self) -> dict[str, Any]:
        """Latest report of the plant."""
        return self._latest.get("sim_robot", {})

    @property
    def pace(self) -> dict[str, float]:
        """How the plant kept wall time from the begin of the motion on; empty in lockstep."""
        return {} if self.plant.get("lockstep") == "True" else pace_between(self._plant_at_start, self.plant)

    @property
    def priority(self) -> int:
        """`realtime_priority` of the plant; 0 for ordinary scheduling."""
        plant = next(spec for spec in self._graph if spec.executable == "sim_robot")
        return int(plant.parameters.get("realtime_priority", 0))

    @property
    def node_names(self) -> list[str]:
        """Names of the nodes of the graph, with their namespaces."""
        return [spec.full_name for spec in self._graph]

    def run(self, timeout: float) -> None:
        """Run until the task is done.

        Raises:
            DemoFailedError: A node died, nothing happened, the controller went to its safe mode, or time ran out.
        """
        environment = quiet_environment(self._domain)
        # Fast DDS keeps its shared memory files under this name; a folder of its own leaves nothing behind.
        with tempfile.TemporaryDirectory(prefix="impact_aware_") as scratch:
            environment["ROS_LOG_DIR"] = scratch
            try:
                self._start(environment)
                with progress(total=100, bar_format="{desc} |{bar}| {percentage:3.0f} % {elapsed}") as bar:
                    self._wait_for_motion(bar)
                    self._follow(bar, timeout)
            finally:
                self._end()

    def _start(self, environment: dict[str, str]) -> None:
        logs = self._folder / "logs"
        self._processes["run_monitor"] = NodeProcess(self._monitor_spec, environment, logs, talk=True)
        for spec in self._specs:
            self._processes[spec.full_name] = NodeProcess(spec, environment, logs)

    def _wait_for_motion(self, bar: tqdm[Any]) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while self._mode() in ("", "IDLE"):
            waiting = str(self._controller_state().get("waiting_for", ""))
            bar.set_description(f"starting the nodes{': ' * bool(waiting)}{waiting}"[:100])
            if time.monotonic() > deadline:
                why = waiting or "no message came from it"
                late = f"the controller did not start within {START_TIMEOUT:g} s"
                raise DemoFailedError(f"{late}: {why}; {self._logged()}")

    def _follow(self, bar: tqdm[Any], timeout: float) -> None:
        deadline, goal = time.monotonic() + timeout, 0.0
        self._plant_at_start = dict(self.plant)
        while (mode := self._mode()) != "HOLD" and self._controller_state().get("done") != "True":
            state = self._controller_state()
            if mode == "SAFE":
                raise DemoFailedError(f"the controller went to its safe mode: {state.get('detail', 'no reason given')}")
            if time.monotonic() > deadline:
                raise DemoFailedError(f"the task was not done within {timeout:g} s of wall time (mode {mode})")
            bar.set_description(f"{mode.lower():>8}, {float(state.get('time', 0.0)):6.2f} s")
            left = float(state.get("goal_distance", -1.0))
            goal = max(goal, left)
            if left > 0.0:
                bar.update(max(0, int(100 * (1.0 - left / goal)) - bar.n))
        bar.update(bar.total - bar.n)
        # What was published last is recorded before the nodes end, and until then the recording has to reach.
        time.sleep(0.3)
        self._listen()

    def _mode(self) -> str:
        """Return the controller's mode after a short wait; empty before its first report."""
        time.sleep(0.02)
        self._listen()
        self._check_alive()
        return str(self._controller_state().get("mode", ""))

    def _controller_state(self) -> dict[str, Any]:
        return self._latest.get("rs_controller", {})

    def _listen(self) -> None:
        for line in self._processes["run_monitor"].read_lines():
            self._latest[str(line.get("node", "")).lstrip("/")] = line

    def _check_alive(self) -> None:
        for name, process in self._processes.items():
            if not process.running:
                self._make_safe(name)
                ended = ": ".join(filter(None, (f"{process.exit_description()} during the run", process.last_lines(1))))
                raise DemoFailedError(f"{name} {ended}; {self._arm_report(name)}")

    def _make_safe(self, dead: str) -> None:
        """Bring the arm to rest by the remaining nodes, and wait until it is."""
        monitor = self._processes["run_monitor"]
        if dead == "run_monitor":
            self._processes[self._controller].signal(signal.SIGINT)
            time.sleep(1.0)
            return
        # Reports from before the death are out of date: the arm may have begun to move since.
        self._listen()
        self._latest.clear()
        deadline = time.monotonic() + SAFE_TIMEOUT
        while time.monotonic() < deadline and not self._at_rest():
            # Again and again, as the monitor may not have found the controller yet.
            monitor.write_line("safe_stop")
            time.sleep(0.2)
            self._listen()

    def _at_rest(self) -> bool:
        plant = self.plant
        controller = self._latest.get("rs_controller", {})
        # A plant that still holds is no evidence of rest while the controller may be about to send its first command.
        if self._processes[self._controller].running and controller.get("mode") not in ("SAFE", "IDLE"):
            return False
        if not self._processes["sim_robot"].running or plant.get("arm") == "hold":
            return True
        stopped = plant.get("arm") == "brake" or controller.get("mode") == "SAFE"
        return stopped and float(plant.get("largest_speed", 1.0)) < AT_REST

    def _arm_report(self, dead: str) -> str:
        plant = self.plant
        controller = self._latest.get("rs_controller", {})
        if dead == "run_monitor":
            return "the controller was stopped and the simulator brakes the arm"
        how = f"the controller is in mode {controller.get('mode', 'unknown')} ({controller.get('reason', '')})"
        if dead == "sim_robot":
            return how
        if dead == self._controller:
            how = "the simulator braked the arm, as the robot's own reflex does"
        speed = float(plant.get("largest_speed", float("nan")))
        return f"{how}, largest joint speed {speed:.3f} rad/s"

    def _logged(self) -> str:
        return "; ".join(f"{name}: {process.last_lines(1)}" for name, process in self._processes.items())

    def _end(self) -> None:
        """The controller first, so that its safe command still reaches the plant; the recorder after its sources."""
        last = ("bag_recorder", "run_monitor")
        groups: tuple[list[str], ...] = (
            [self._controller],
            [name for name in self._processes if name not in (self._controller, *last)],
            [name for name in self._processes if name in last],
        )
        for names in groups:
            end_processes(self._processes[name] for name in names if name in self._processes)
        for process in self._processes.values():
            process.close()


def pace_between(start: Mapping[str, Any], end: Mapping[str, Any]) -> dict[str, float]:
    """Compute how a plant kept wall time from two of its reports.

    Returns:
        `real_time_factor`, simulated time over wall time, and `cycles_unanswered`, those that were made without the
        torque that was waited for; empty where a report lacks them.
    """
    try:
        keys = ("time", "given_up", "unanswered")
        simulated, behind, unanswered = (float(end[key]) - float(start[key]) for key in keys)
    except KeyError:
        return {}
    return {
        "real_time_factor": simulated / (simulated + behind) if simulated > 0.0 else math.nan,
        "cycles_unanswered": unanswered,
    }
