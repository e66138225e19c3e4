"""What a controller did, counted and told on `controller_state`."""

from __future__ import annotations

import array
import math
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from impact_aware_msgs.msg import ControllerState
from rclpy.node import Node
from std_msgs.msg import Header

from impact_aware.control import Command, Mode, ReferenceSpreadingController
from impact_aware.control.completion import goal_distance
from impact_aware.messages.controller_state import command_to_message
from impact_aware.nodes.arm_inputs import ArmInputs
from impact_aware.nodes.ros.messages import ROS
from impact_aware.nodes.ros.qos import STREAM_QOS
from impact_aware.task.arms import Arm

MOST_MISSED = 1000
"""Periods between two states that count as missed; more at once are a clock that was set."""

JITTER_CYCLES = 1000
"""Cycles over which the jitter is taken."""


class ControlReport:
    """Accounts of the cycles since activation.

    Attributes:
        last: The last command, or None.
        cycles: Cycles since activation.
        missed: Periods without one.
        late: Cycles that took longer than a period.
    """

    def __init__(
        self,
        node: Node,
        controller: ReferenceSpreadingController,
        inputs: ArmInputs,
        arms: Sequence[Arm],
        decimation: int,
    ) -> None:
        """Create the publisher; every `decimation`-th cycle will be told."""
        self._controller = controller
        self._inputs = inputs
        self._arms = tuple(arms)
        self._decimation = decimation
        self._publisher = node.create_publisher(ControllerState, "controller_state", STREAM_QOS)
        self._period = controller.parameters.period
        self._periods = array.array("d", [math.nan] * JITTER_CYCLES)
        self._cycle_time = 0.0
        self._age = -1.0
        self.last: Command | None = None
        self.begin()

    def begin(self) -> None:
        """Start counting."""
        self.cycles = self.missed = self.late = 0
        self._arrival = math.nan
        self._periods[:] = array.array("d", [math.nan] * JITTER_CYCLES)

    def account(self, command: Command, age: float, arrival: float, cycle_time: float) -> None:
        """Count a cycle.

        Args:
            command: Its result.
            age: Age of the state it answered, s; negative when the clocks don't compare.
            arrival: When the state was taken, s of a clock that only goes forward.
            cycle_time: From then to the command published, s.
        """
        self._periods[self.cycles % JITTER_CYCLES] = arrival - self._arrival
        self.cycles += 1
        self._age, self._arrival, self._cycle_time = age, arrival, cycle_time
        if cycle_time > self._period:
            self.late += 1
        if self.last is not None:
            gap = round((command.time - self.last.time) / self._period)
            # Stamps that went on by more were set, and no states were missed.
            self.missed += gap - 1 if 1 < gap < MOST_MISSED else 0
        self.last = command

    @property
    def period(self) -> float:
        """Between the arrivals of the last two states, s; negative before the second."""
        period = self._periods[(self.cycles - 1) % JITTER_CYCLES]
        return period if math.isfinite(period) else -1.0

    @property
    def jitter(self) -> float:
        """Standard deviation of that period over the last cycles, s; negative before the third state."""
        periods = np.frombuffer(self._periods)
        periods = periods[np.isfinite(periods)]
        return float(periods.std()) if periods.size > 1 else -1.0

    def tell(self, command: Command, stamp: Time, event_sequence: int) -> None:
        """Publish `controller_state` when it is the turn of this cycle.

        Args:
            command: Result of the cycle.
            stamp: Of the state it answered.
            event_sequence: Number of the last impact event that was acted upon.
        """
        if self.cycles % self._decimation or not self._publisher.get_subscription_count():
            return
        controller, field = self._controller, self._controller.field
        several = len(self._arms) > 1 and field is not None
        message = command_to_message(
            command,
            ROS,
            header=Header(stamp=stamp, frame_id=field.frame if several and field else self._arms[0].robot.base_frame),
            arms=self._arms,
            joint_reference_velocity=controller.joint_reference_velocity(command),
        )
        message.field_revision = field.revision if field is not None else 0
        message.event_sequence = event_sequence
        message.cycles = self.cycles
        message.missed = self.missed
        message.late = self.late
        message.cycle_time = self._cycle_time
        message.period = self.period
        message.jitter = self.jitter
        message.state_age = self._age
        message.goal_distance = self._goal_distance(command)
        self._publisher.publish(message)

    def rehearse(self, command: Command) -> None:
        """Make a message for nobody: the first one takes milliseconds, which the first cycles do not have."""
        command_to_message(
            command, ROS, header=Header(), arms=self._arms, joint_reference_velocity=np.zeros(len(command.effort))
        )

    def values(self) -> dict[str, object]:
        """For diagnostics."""
        values: dict[str, object] = {
            "cycles": self.cycles,
            "missed": self.missed,
            "late": self.late,
            "cycle_us": 1e6 * self._cycle_time,
            "period_us": 1e6 * self.period,
            "jitter_us": 1e6 * self.jitter,
            "state_age_us": 1e6 * self._age,
            "state_rate": self._inputs.rate,
            "rejected_states": self._inputs.rejected,
        }
        if self.last is not None:
            values["time"] = self.last.time
            values["goal_distance"] = self._goal_distance(self.last)
        if self.last is not None and self._controller.mode is Mode.SAFE:
            values["reason"] = str(self.last.reason or "")
            values["detail"] = self.last.detail
        return values

    def _goal_distance(self, command: Command) -> float:
        field = self._controller.field
        distance = goal_distance(command, field.goal) if field is not None else np.nan
        return distance if math.isfinite(distance) else -1.0
