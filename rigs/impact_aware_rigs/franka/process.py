"""The simulated arm's own process: a client's bindings hold the interpreter lock while they wait for the arm."""

from __future__ import annotations

import dataclasses
import logging
import select
import signal
import sys
import time
from collections import deque
from collections.abc import Iterable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from franky_sim.simulation_server import LocalHostnames

from impact_aware.arrays import Array
from impact_aware_rigs.franka.arm import ArmStatus
from impact_aware_rigs.franka.options import PERIOD, ArmOptions
from impact_aware_rigs.franka.scene import ArmScene
from impact_aware_rigs.franka.server import StrictServer

ASLEEP = 0.002
"""Between two looks for a client, s."""

CREEP = 0.25
"""Longest wait of a cycle for the owner's leave, s of wall time: libfranka gives up after a second without a state."""

LOGGED = 60_000
"""Cycles that the log keeps."""


class OwnedServer(StrictServer):
    """An arm that answers its owner, too."""

    def __init__(self, owner: Connection, scene: ArmScene, options: ArmOptions, hostnames: Iterable[str]) -> None:
        """Prepare; `owner` gets an answer to each request."""
        self._owner, self._until = owner, np.inf
        self._log: deque[tuple[float, ...]] = deque(maxlen=LOGGED)
        super().__init__(scene, options, hostnames)
        self.attention.append(owner)

    def between(self) -> None:
        """Answer the owner's requests."""
        while self._owner.poll():
            name, arguments = self._owner.recv()
            try:
                self._owner.send((True, getattr(self, name)(*arguments)))
            except Exception as error:
                self._owner.send((False, f"{type(error).__name__}: {error}"))

    def put_back(self) -> None:
        """Put the object where it began."""
        self.scene.put_back()

    def go_until(self, time: float) -> None:
        """Make no cycle that begins at this time, s, or later before the next leave, or `CREEP` of wall time."""
        self._until = time

    def pace(self, rate: float) -> None:
        """Change the option `rate`."""
        self._options = dataclasses.replace(self._options, rate=rate)

    def take_log(self) -> Array:
        """Log (k, 16) of the cycles since the last call: time, s, whether a command acted, dq, rad/s, tau_J_d, N m."""
        rows = np.array(self._log).reshape(-1, 16)
        self._log.clear()
        return rows

    def _pace(self) -> None:
        super()._pace()
        limit = time.monotonic() + CREEP
        while self.cycle * PERIOD >= self._until and (left := limit - time.monotonic()) > 0.0:
            select.select(self.attention, [], [], left)
            self.between()

    def _move(self) -> None:
        commanded = self._motion > 0 and self._answered
        super()._move()
        self._log.append(((self.cycle + 1) * PERIOD, float(commanded), *self.scene.dq, *self._desired))

    def status(self) -> dict[str, Any]:
        """What is known of the arm, as `ArmStatus` has it."""
        own: dict[str, Any] = {
            "mode": self.mode.name[1:],
            "time": self.cycle * PERIOD,
            "states_sent": self.states,
            "states_lost": self.lost,
            "states_lost_by_chance": self.unpaced,
            "states_ahead": self.ahead,
            "commands": self.commands,
            "errors": tuple(self.errors),
            "contact_times": tuple(PERIOD * contact for contact in self.scene.contacts),
            "object_pose": self.scene.object_pose,
            "q": tuple(self.scene.q.tolist()),
            "dq": tuple(self.scene.dq.tolist()),
            "armature": self.scene.armature,
            "joint_impedance": self.joint_impedance,
            "torque_thresholds": tuple(self.thresholds.torque.tolist()),
            "force_thresholds": tuple(self.thresholds.force.tolist()),
            "load": self.robot.m_load,
        }
        assert own.keys() == {entry.name for entry in dataclasses.fields(ArmStatus)}
        return own


def main() -> None:
    """Run the arm until its owner ends it or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.ERROR)
    owner = Connection(int(sys.argv[1]))
    try:
        options: ArmOptions = owner.recv()
        with ArmScene(options) as scene:
            scene.start()
            server = OwnedServer(owner, scene, options, LocalHostnames())
            server.init()
            owner.send((True, server.hostname))
            while True:
                server.advance()
                if not server.udp_connected:
                    owner.poll(ASLEEP)
                server.between()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


if __name__ == "__main__":
    main()
