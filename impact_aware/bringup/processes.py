"""Node processes: start, watch, shut down, and leave none behind."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from impact_aware.bringup.graph import PACKAGE
from impact_aware.bringup.middleware import check_ros
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.child_process import end_with_parent

ANSWER = 0.2
"""Time in which a process that hangs can write down where, s."""


class NodeProcess:
    """One node as a process of its own, its output in a log file.

    Attributes:
        spec: What was started.
        log: Its log file.
        process: The process.
    """

    def __init__(self, spec: NodeSpec, environment: dict[str, str], log_folder: Path, *, talk: bool = False) -> None:
        """Start it; `talk` keeps its standard input and output as pipes, for `read_lines` and `write_line`.

        Raises:
            MissingRosError: There is no ROS 2 to start it with.
        """
        check_ros()
        self.spec = spec
        self.log = log_folder / f"{spec.full_name.replace('/', '.')}.log"
        self._log_file: IO[bytes] = self.log.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"{PACKAGE}.bringup.start", spec.executable, *spec.arguments()],
            env=environment,
            stdin=subprocess.PIPE if talk else subprocess.DEVNULL,
            stdout=subprocess.PIPE if talk else self._log_file,
            stderr=self._log_file if talk else subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        self._lines: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._collect, daemon=True)
        if talk:
            self._reader.start()

    def _collect(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                self._lines.put(json.loads(line))
            except ValueError:
                self._log_file.write(line)

    def read_lines(self) -> list[dict[str, Any]]:
        """The JSON lines since the last call; anything else is in the log."""
        found = []
        while not self._lines.empty():
            found.append(self._lines.get())
        return found

    def write_line(self, line: str) -> None:
        """Send a line; nothing happens when the process is gone."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def exit_description(self) -> str:
        """Its exit status or the signal that ended it, as part of a sentence."""
        code = self.process.returncode
        if code is not None and code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with status {code}"

    def signal(self, number: signal.Signals) -> None:
        """Send a signal if it still runs."""
        if self.running:
            self.process.send_signal(number)

    def last_lines(self, count: int = 3) -> str:
        """The last lines of its log."""
        self._log_file.flush()
        return "\n".join(self.log.read_text(errors="replace").strip().splitlines()[-count:])

    def close(self) -> None:
        """Release the log and the pipes once the process has ended; `read_lines` still gives what it printed."""
        if self._reader.is_alive():
            self._reader.join(timeout=1.0)
        self._log_file.close()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def end_processes(processes: Iterable[NodeProcess], patience: float = 5.0) -> list[str]:
    """End processes side by side: SIGINT, then SIGTERM, then SIGKILL, each `patience` seconds after the other.

    A node that hangs while it leaves the middleware ends by itself before that, and logs its stack
    (`ros.runtime`); one that has to be killed writes its stack first.

    Returns:
        Names of those that had to be killed.
    """
    waiting = [process for process in processes if process.running]
    killed = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if number == signal.SIGKILL and waiting:
            for process in waiting:
                process.signal(signal.SIGUSR1)
            time.sleep(ANSWER)
        for process in waiting:
            process.signal(number)
        if number == signal.SIGKILL:
            killed = [process.spec.full_name for process in waiting]
        deadline = time.monotonic() + patience
        while waiting and time.monotonic() < deadline:
            time.sleep(0.01)
            waiting = [process for process in waiting if process.running]
    return killed


def quiet_environment(domain: int) -> dict[str, str]:
    """The environment of node processes: traffic stays on this machine, in a domain of its own, one thread each.

    Modules come from where they are installed, never from the current folder, whatever a stranger left there.
    """
    environment = dict(os.environ)
    environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    environment["ROS_DOMAIN_ID"] = str(domain)
    environment["PYTHONUNBUFFERED"] = environment["PYTHONSAFEPATH"] = "1"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        environment[name] = "1"
    return environment
