"""The process with libfranka keeps the contract of laws."""

from types import SimpleNamespace

import numpy as np
import pytest
from law_contract import LawContract

from impact_aware.control.local_law import LawFollower
from impact_aware.franka.channel import Channel
from impact_aware.franka.driver import PERIOD, Driver, DriverSettings


class Process:
    """Its answers to states, with laws through shared memory; the arm reports what it was sent last."""

    def __init__(self):
        self.node = Channel()
        self.arm = Channel(self.node.fds)
        self._driver = Driver(DriverSettings("127.0.0.1", "fr3", control=True), self.arm, None)
        self.robot = self._driver._robot
        self._follower = LawFollower(self.robot, PERIOD)
        self._desired = np.zeros(7)

    def receive(self, law):
        # The names of the joints are the node's to check: test_relay.py.
        self.node.put_law(law)

    def torque(self, q, dq, now):
        state = SimpleNamespace(q=q.tolist(), dq=dq.tolist(), tau_J_d=self._desired.tolist())
        self._driver._answer(self._follower, state, now)
        self._desired = self._follower.filter.previous.copy()
        return self._desired + self.robot.gravity(q)


@pytest.fixture
def consumer():
    made = Process()
    yield made
    for record in made.arm._records:
        record.release()
    made.node.close()


class TestProcess(LawContract):
    """Of `franka_fci_relay`."""
