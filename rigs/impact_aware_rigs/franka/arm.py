"""The simulated arm as its owner sees it: a process on a loopback address, its counters, and what can happen to it."""

from __future__ import annotations

import dataclasses
import importlib.util
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, Self

from impact_aware_rigs.franka.options import ArmOptions

START_PATIENCE, ANSWER_PATIENCE = 180.0, 60.0
"""For a process that loads MuJoCo and the meshes, and for an answer of one that runs, s of wall time."""

REQUESTS = ("trip", "user_stop", "guide", "pull", "reset", "lose", "late", "put_back", "go_until", "pace", "take_log")
"""What the owner can do to the arm: methods of the arm's process (`process.py`, `server.py`), which return at once."""


def missing_packages() -> str:
    """Which of the optional packages are not installed, in a sentence; empty when both are."""
    missing = [name for name in ("franky_sim", "pylibfranka") if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(missing)}; `make test-franka` installs them" if missing else ""


@dataclass(frozen=True)
class ArmStatus:
    """The arm at one instant; times are simulated ones, s, since the arm's process started.

    Attributes:
        mode: `Idle`, `Move`, `Guiding`, `Reflex` or `UserStopped`.
        time: Of the last state.
        states_sent: States of motions.
        states_lost: Cycles of motions without a command in time.
        states_lost_by_chance: Of these, those that no test requested.
        states_ahead: States of motions for which the client had a newer one already, at its first commands.
        commands: Commands that acted.
        errors: Names of present errors.
        contact_times: Begins of contact between tool and object.
        object_pose: Position, m, and quaternion w, x, y, z in the base frame; empty without an object.
        q: (7,) True joint positions, rad.
        dq: (7,) True joint velocities, rad/s.
        armature: (7,) Apparent motor inertia of the joints, kg m^2.
        joint_impedance: Stiffness that the client has set, N m/rad.
        torque_thresholds: (7,) Of the joint reflex, N m.
        force_thresholds: (6,) Of the Cartesian reflex, N and N m.
        load: Mass of the load that the client has set, kg.
    """

    mode: str
    time: float
    states_sent: int
    states_lost: int
    states_lost_by_chance: int
    states_ahead: int
    commands: int
    errors: tuple[str, ...]
    contact_times: tuple[float, ...]
    object_pose: tuple[float, ...]
    q: tuple[float, ...]
    dq: tuple[float, ...]
    armature: tuple[float, ...]
    joint_impedance: tuple[float, ...]
    torque_thresholds: tuple[float, ...]
    force_thresholds: tuple[float, ...]
    load: float


class SimulatedFranka:
    """A simulated arm in a process of its own, from entering the context to leaving it.

    Every entry of `ArmStatus` is an attribute, too, and is requested when it is read; each of `REQUESTS` is a method.

    Attributes:
        options: What it is.
        address: Its IP address on the loopback network, for a libfranka client.
        pid: Of its process.
    """

    def __init__(self, options: ArmOptions | None = None, **changes: Any) -> None:
        """Prepare an arm with these options, changed by name; nothing is started yet."""
        self.options = dataclasses.replace(options or ArmOptions(), **changes)
        self.address, self.pid = "", 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Start the process and wait until clients can connect."""
        own, other = socket.socketpair()
        with other:
            command = [sys.executable, "-m", "impact_aware_rigs.franka.process", str(other.fileno())]
            self._process = subprocess.Popen(command, pass_fds=(other.fileno(),), stdin=subprocess.DEVNULL)
        self.pid = self._process.pid
        self._connection = Connection(own.detach())
        try:
            self._connection.send(self.options)
            self.address = self._answer(START_PATIENCE)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        """End the process."""
        # A closed connection ends it, also between two requests.
        self._connection.close()
        try:
            self._process.wait(timeout=10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def status(self) -> ArmStatus:
        """Everything that is known of the arm at one instant."""
        return ArmStatus(**self._ask("status"))

    def __getattr__(self, name: str) -> Any:
        """An entry of the present status, or one of `REQUESTS`."""
        if name in ArmStatus.__dataclass_fields__:
            return getattr(self.status(), name)
        if name in REQUESTS:
            return partial(self._ask, name)
        raise AttributeError(name)

    def _ask(self, name: str, *arguments: Any) -> Any:
        with self._lock:
            self._connection.send((name, arguments))
            return self._answer(ANSWER_PATIENCE)

    def _answer(self, patience: float) -> Any:
        """The process's answer.

        Raises:
            RuntimeError: The process has ended, does not answer, or refuses.
        """
        try:
            if not self._connection.poll(patience):
                raise RuntimeError(f"the simulated arm does not answer within {patience:g} s")
            done, result = self._connection.recv()
        except EOFError as error:
            raise RuntimeError("the simulated arm has ended: see its messages above") from error
        if not done:
            raise RuntimeError(result)
        return result
