"""Real nodes as processes, in a ROS domain and a folder of their own, watched until something is true."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

from impact_aware.bringup.domain import own_domain
from impact_aware.bringup.node_spec import NodeSpec, with_companions
from impact_aware.bringup.processes import NodeProcess, end_processes, quiet_environment

Line = dict[str, Any]


class GraphRun:
    """A context in which nodes run; none of them is left when it ends.

    Attributes:
        domain: ROS domain of the nodes.
        processes: What runs or ran, by the node's name with its namespace.
        killed: Names of those that had to be killed when the context ended.
        hung: What their logs say last, in one line.
        latest: The last line that a listener printed about each node, by the node's name without its namespace.
    """

    def __init__(
        self,
        on_line: Callable[[Line], object] = lambda line: None,
        *,
        domain: int | None = None,
    ) -> None:
        """Keep what is needed; nothing is started yet.

        Args:
            on_line: Called with each line that a listener prints.
            domain: ROS domain; an unused one when None.
        """
        self._on_line, self._domain = on_line, domain
        self._stack = contextlib.ExitStack()
        self._replaced: list[NodeProcess] = []
        self._listeners: list[NodeProcess] = []
        self.processes: dict[str, NodeProcess] = {}
        self.killed: list[str] = []
        self.hung = ""
        self.latest: dict[str, Line] = {}

    def __enter__(self) -> Self:
        """Reserve a folder and a domain."""
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="impact_aware_")))
        self.domain = self._stack.enter_context(own_domain(self._domain))
        self._environment = quiet_environment(self.domain) | {"ROS_LOG_DIR": str(self.folder)}
        return self

    def __exit__(self, *_error: object) -> None:
        """End all processes."""
        self.end()
        self._stack.close()

    def start(self, *nodes: NodeSpec, listener: bool = False) -> None:
        """Start nodes; the JSON lines of a listener are taken in by `listen`."""
        for spec in with_companions(nodes):
            self._start(spec, self.folder, listener=listener)

    def restart(self, name: str) -> None:
        """Start a node anew that has ended, with a log of its own."""
        folder = self.folder / "restarted"
        folder.mkdir(exist_ok=True)
        self._replaced.append(self.processes[name])
        self._start(self.processes[name].spec, folder, listener=False)

    def _start(self, spec: NodeSpec, folder: Path, *, listener: bool) -> None:
        process = NodeProcess(spec, self._environment, folder, talk=listener)
        self.processes[spec.full_name] = process
        if listener:
            self._listeners.append(process)

    def listen(self) -> None:
        """Take in what the listeners have printed since the last call."""
        for process in self._listeners:
            for line in process.read_lines():
                self.latest[str(line.get("node", "")).rpartition("/")[2].partition(":")[0]] = line
                self._on_line(line)

    def reported(self, node: str, key: str) -> str:
        """A value that a node last reported of itself; empty when there is none."""
        return str(self.latest.get(node, {}).get(key, ""))

    def wait(self, condition: Callable[[], bool], patience: float, period: float = 0.01) -> bool:
        """Listen until a condition is true; whether it is within `patience` s."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            self.listen()
            if condition():
                return True
            time.sleep(period)
        return False

    def ask(self, request: str, condition: Callable[[], bool], patience: float, period: float) -> bool:
        """Write a request to the listeners, again every `period` s, until a condition is true; whether it is."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            for process in self._listeners:
                process.write_line(request)
            if self.wait(condition, period):
                return True
        return False

    def last_lines(self) -> str:
        """The last line of every node's log, together no longer than a reader takes."""
        return "; ".join(f"{name}: {process.last_lines(1)}" for name, process in self.processes.items())[:400]

    def where_killed(self) -> str:
        """End of the log of each node that had to be killed, in one line, with the stack where it hung."""
        processes = {own.spec.full_name: own for own in (*self.processes.values(), *self._replaced)}
        return "; ".join(f"{name}: {' | '.join(processes[name].last_lines(8).splitlines())}" for name in self.killed)

    def died(self, exempt: Iterable[str] = ()) -> list[str]:
        """One sentence about each node that has ended by itself."""
        return [
            f"{name} {process.exit_description()}: {process.last_lines(1)}"
            for name, process in self.processes.items()
            if not process.running and name not in exempt
        ]

    def end(self) -> None:
        """End all processes, the listeners last, and take in what those printed at last."""
        self.killed += end_processes(own for own in self.processes.values() if own not in self._listeners)
        self.killed += end_processes(self._listeners)
        self.hung = self.where_killed()
        for process in (*self.processes.values(), *self._replaced):
            process.close()
        self.listen()
