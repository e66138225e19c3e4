"""The simulated arm as its owner sees it: a process on a loopback address, its counters, and what can happen to it."""

from __future__ import annotations

import dataclasses
import importlib.util
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Self

import numpy as np

from impact_aware.arrays import Array
from impact_aware_rigs.franka.options import ArmOptions

START_PATIENCE, ANSWER_PATIENCE = 180.0, 60.0
"""For a process that loads MuJoCo and the meshes, and for an answer of one that runs, s of wall time."""


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

    Every entry of `ArmStatus` is an attribute, too, and is requested when it is read.

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

    def trip(self, name: str) -> None:
        """Raise an error of libfranka's by its name: the arm stops in the reflex mode."""
        self._ask("trip", name)

    def user_stop(self, pressed: bool = True) -> None:
        """Press or release the user stop."""
        self._ask("user_stop", pressed)

    def guide(self, posture: Sequence[float], duration: float = 1.0) -> None:
        """Take the passive arm by its hand towards a posture (7,), rad; a motion ends as by the user stop.

        Returns at once; `mode` is `Guiding` until `duration` s have passed.
        """
        self._ask("guide", tuple(posture), duration)

    def pull(self, torques: Sequence[float], duration: float) -> None:
        """Pull at the joints with torques (7,), N m, for so many seconds, also in a motion."""
        self._ask("pull", tuple(torques), duration)

    def reset(self) -> None:
        """Cut the client off, and put arm, object, errors and thresholds back to the start; time and counts go on."""
        self._ask("reset")

    def lose(self, count: int) -> None:
        """Lose the next `count` commands on their way to the arm."""
        self._ask("lose", count)

    def late(self, every: int) -> None:
        """Let each `every`-th command come too late for its cycle; 0 for none."""
        self._ask("late", every)

    def put_back(self) -> None:
        """Put the object where it began, at rest."""
        self._ask("put_back")

    def go_until(self, time: float) -> None:
        """Let the arm's time go on to this one, s, from then on at four cycles per second of wall time."""
        self._ask("go_until", time)

    def pace(self, rate: float) -> None:
        """Change the option `rate`."""
        self._ask("pace", rate)

    def take_log(self) -> Array:
        """Log (k, 16) of the cycles since the last call: time, s, whether a command acted, dq, rad/s, tau_J_d, N m."""
        return np.asarray(self._ask("take_log"))

    def status(self) -> ArmStatus:
        """Everything that is known of the arm at one instant."""
        return ArmStatus(**self._ask("status"))

    def __getattr__(self, name: str) -> Any:
        """An entry of the present status."""
        if name in ArmStatus.__dataclass_fields__:
            return getattr(self.status(), name)
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
