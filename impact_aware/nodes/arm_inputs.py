"""What an arm of the simulated plant is commanded: torques that hold, or laws that are applied in every cycle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from impact_aware.arrays import Array
from impact_aware.bringup.command_path import COMMAND_TOPICS
from impact_aware.control.local_law import LawFollower
from impact_aware.errors import InvalidInputError
from impact_aware.messages.local_law import TYPE as LAW_TYPE
from impact_aware.messages.local_law import law_from_message
from impact_aware.ros.messages import message_class
from impact_aware.ros.qos import COMMAND_QOS
from impact_aware.simulation.sensors import JointReading
from impact_aware.task.arms import Arm


class _Input:
    """What an arm is commanded over one topic.

    Attributes:
        begun: Whether anything usable has come since `forget`.
        rejected: Messages that were not usable.
        damped_cycles: Cycles in which what there had been was out of date, and the arm damped itself.
    """

    def __init__(self, node: Node, on_command: Callable[[], None]) -> None:
        """Nothing has come yet; `on_command` is called when something usable has."""
        self.begun = False
        self.rejected = self.damped_cycles = 0
        self._node, self._on_command = node, on_command

    def lapsed(self, now: float) -> bool:
        """Whether the arm is on its own, as what it was commanded is out of date."""
        return False

    def used(self) -> None:
        """A cycle has been driven by what there was."""

    def forget(self) -> None:
        """The arm holds itself from now on."""
        self.begun = False

    def _take(self) -> None:
        self.begun = True
        self._on_command()

    def _refuse(self, what: object) -> None:
        # What ros2_control's forward controllers do: drop it, keep the last one.
        self.rejected += 1
        self._node.get_logger().warning(f"dropped {what}", throttle_duration_sec=2.0)


class EffortInput(_Input):
    """Torques, each of which holds until the next one."""

    def __init__(
        self, node: Node, arm: Arm, joints: slice, on_command: Callable[[], None], now: Callable[[], float]
    ) -> None:
        """Subscribe; `joints` are the arm's in the plant's arrays, `now` is of the clock that stamps the states, s."""
        super().__init__(node, on_command)
        self._robot, self._joints = arm.robot, joints
        self._now = now
        self._command: Array | None = None
        self._new, self._time = False, -math.inf
        node.create_subscription(Float64MultiArray, arm.topic(COMMAND_TOPICS["effort"]), self._receive, COMMAND_QOS)

    def is_new(self, now: float) -> bool:
        """Whether one has come since the last cycle, for which the arm waits."""
        return self._new

    def silence(self, now: float) -> float:
        """Since the last one, s."""
        return now - self._time

    def torque(self, q: Array, reading: JointReading, now: float) -> Array | None:
        """What the arm makes of its last command (n,), N m, with the plant at `q`, rad; None before there is one."""
        if self._command is None or not self._robot.adds_gravity:
            return self._command
        return self._command + self._robot.gravity(q[self._joints])

    def used(self) -> None:
        """The next cycle wants another one."""
        self._new = False

    def _receive(self, message: Float64MultiArray) -> None:
        command = np.array(message.data)
        if command.shape != (self._robot.n,) or not np.isfinite(command).all():
            self._refuse(f"a command with {command.size} values, {np.count_nonzero(~np.isfinite(command))} not finite")
            return
        self._command, self._new, self._time = command, True, self._now()
        self._take()


class LawInput(_Input):
    """Laws, applied in each cycle to what the sensors show; without a valid one the arm is damped."""

    def __init__(self, node: Node, arm: Arm, joints: slice, on_command: Callable[[], None], period: float) -> None:
        """Subscribe; `joints` are the arm's in the plant's arrays, `period` is that of the plant, s."""
        super().__init__(node, on_command)
        self._robot, self._joints, self._period = arm.robot, joints, period
        self._follower = LawFollower(arm.robot, period)
        topic = arm.topic(COMMAND_TOPICS["local_law"])
        node.create_subscription(message_class(LAW_TYPE), topic, self._receive, COMMAND_QOS)

    def is_new(self, now: float) -> bool:
        """Return whether a law has been received; it is applied in every cycle from then on."""
        return self.begun

    def silence(self, now: float) -> float:
        """None: an arm without a valid law damps itself."""
        return 0.0

    def lapsed(self, now: float) -> bool:
        """Whether it damps itself."""
        law = self._follower.law
        return self.begun and (law is None or not law.is_valid(now))

    def torque(self, q: Array, reading: JointReading, now: float) -> Array | None:
        """What the law makes of the sensors' values at `now`, s: (n,), N m; None before there is one."""
        if not self.begun:
            return None
        torque = self._follower.apply(reading.q[self._joints], reading.dq[self._joints], now)
        self.damped_cycles += self._follower.expired
        return torque

    def forget(self) -> None:
        """The next law begins from rest."""
        super().forget()
        self._follower = LawFollower(self._robot, self._period)

    def _receive(self, message: Any) -> None:
        try:
            self._follower.receive(law_from_message(message))
        except InvalidInputError as error:
            self._refuse(f"a law: {error}")
            return
        self._take()


ArmInput = EffortInput | LawInput
