"""What a controller did, counted and published on `controller_state`."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from impact_aware_msgs.msg import ControllerState
from rclpy.node import Node
from std_msgs.msg import Header

from impact_aware.arrays import Array
from impact_aware.control import Command, ControlSession, Mode
from impact_aware.control.ending import goal_distance
from impact_aware.control.qp import TimeBudget
from impact_aware.messages.controller_state import command_to_message
from impact_aware.messages.stamps import write_stamp
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.ros.messages import ROS
from impact_aware.ros.qos import STREAM_QOS
from impact_aware.task.arms import Arm

MOST_MISSED = 1000
"""Periods between two states that count as missed; more at once are a clock that was set."""

JITTER_CYCLES = 1000
"""Cycles over which the jitter is taken."""


class ControlReport:
    """Accounts of the cycles since activation.

    Attributes:
        cycles: Cycles since activation.
        missed: Periods without one.
        late: Cycles that took longer than a period.
        budget: Cycles that took longer than they should.
    """

    def __init__(
        self,
        node: Node,
        session: ControlSession,
        arms: Sequence[Arm],
        sources: Sequence[JointStateSource],
        decimation: int,
    ) -> None:
        """Create the publisher; every `decimation`-th cycle will be published."""
        self._session = session
        self._arms = tuple(arms)
        self._sources = tuple(sources)
        self._decimation = decimation
        self._publisher = node.create_publisher(ControllerState, "controller_state", STREAM_QOS)
        self._period = session.parameters.period
        self._message: ControllerState | None = None
        self.begin()

    def begin(self) -> None:
        """Start counting."""
        self.cycles = self.missed = self.late = 0
        self._arrival = self._time = math.nan
        self.budget = TimeBudget()
        self._periods: deque[float] = deque(maxlen=JITTER_CYCLES)
        self._sum = self._squares = 0.0

    def account(self, command: Command, arrival: float) -> None:
        """Count a cycle.

        Args:
            command: Its result.
            arrival: When the state was received, s of a steady clock.
        """
        if self.cycles:
            self._note_period(arrival - self._arrival)
        self.cycles += 1
        self._arrival = arrival
        if self._session.cycle_time > self._period:
            self.late += 1
        self.budget.note(self._session.cycle_time, command.mode.name, self._session.regime)
        gap = (command.time - self._time) / self._period
        # Stamps that went on by more were set, and no states were missed.
        self.missed += round(gap) - 1 if 1.5 < gap < MOST_MISSED else 0
        self._time = command.time

    def _note_period(self, period: float) -> None:
        """Keep a period and the sums that the jitter follows from; about the nominal one, so that little cancels."""
        away = period - self._period
        if len(self._periods) == JITTER_CYCLES:
            oldest = self._periods[0]
            self._sum -= oldest
            self._squares -= oldest * oldest
        self._periods.append(away)
        self._sum += away
        self._squares += away * away

    @property
    def period(self) -> float:
        """Between the arrivals of the last two states, s; negative before the second."""
        return self._period + self._periods[-1] if self._periods else -1.0

    @property
    def jitter(self) -> float:
        """Standard deviation of that period over the last cycles, s; negative before the third state."""
        count = len(self._periods)
        if count < 2:
            return -1.0
        mean = self._sum / count
        return math.sqrt(max(self._squares / count - mean * mean, 0.0))

    def publish(self, command: Command, stamp: Time) -> None:
        """Publish `controller_state` when it is the turn of this cycle.

        Args:
            command: Result of the cycle.
            stamp: Of the state it answered.
        """
        if self.cycles % self._decimation or not self._publisher.get_subscription_count():
            return
        session, field = self._session, self._session.field
        several = len(self._arms) > 1 and field is not None
        frame = field.frame if several and field else self._arms[0].robot.base_frame
        message = self._write(command, Header(stamp=stamp, frame_id=frame), session.joint_reference_velocity(command))
        message.field_revision = field.revision if field is not None else 0
        message.event_sequence = session.events.sequence
        message.cycles = self.cycles
        message.missed = self.missed
        message.late = self.late
        write_stamp(message.cycle_time, session.cycle_time)
        message.has_period, message.has_state_age = len(self._periods) > 1, session.age >= 0.0
        if message.has_period:
            write_stamp(message.period, self.period)
            write_stamp(message.jitter, self.jitter)
        if message.has_state_age:
            write_stamp(message.state_age, session.age)
        distance = self._goal_distance(command)
        message.has_goal_distance, message.goal_distance = distance >= 0.0, distance
        self._publisher.publish(message)

    def end(self, detail: str = "") -> None:
        """Publish that no command follows, and why, so that a watchdog stops expecting one."""
        self._publisher.publish(ControllerState(mode=ControllerState.MODE_IDLE, detail=detail))

    def rehearse(self, command: Command) -> None:
        """Fill a message without publishing it: the first takes milliseconds, too long for a control cycle."""
        self._write(command, Header(), np.zeros(len(command.effort)))

    def _write(self, command: Command, header: Header, joint_reference_velocity: Array) -> ControllerState:
        """A cycle in the one message of this report."""
        self._message = command_to_message(
            command,
            ROS,
            header=header,
            arms=self._arms,
            joint_reference_velocity=joint_reference_velocity,
            message=self._message,
        )
        return self._message

    def values(self) -> dict[str, object]:
        """For diagnostics."""
        values: dict[str, object] = {
            "cycles": self.cycles,
            "missed": self.missed,
            "late": self.late,
            "over_budget": self.budget.over.total(),
            "over_budget_in": "; ".join(f"{where} {count}" for where, count in self.budget.over.most_common()),
            "cycle_us": 1e6 * self._session.cycle_time,
            "period_us": 1e6 * self.period,
            "jitter_us": 1e6 * self.jitter,
            "state_age_us": 1e6 * self._session.age,
            "state_rate": float(np.min([source.rate for source in self._sources])),
            "rejected_states": self._session.states.rejected,
            "ignored_states": self._session.ignored,
            "refused_predictions": self._session.events.refused_predictions,
            "impacts_elsewhere": self._session.events.elsewhere,
            "interventions": self._session.filter.interventions,
            "violations": ", ".join(f"{reason} {count}" for reason, count in self._session.violations.items()),
        }
        command = self._session.command
        if command is not None:
            values["time"] = command.time
            values["goal_distance"] = self._goal_distance(command)
        if command is not None and self._session.mode is Mode.SAFE:
            # Not the command's, which may be from before: its first one answers the next state, which may never come.
            reason, values["detail"] = self._session.safe_reason
            values["reason"] = str(reason or "")
        return values

    def _goal_distance(self, command: Command) -> float:
        field = self._session.field
        distance = goal_distance(command, field.goal) if field is not None else np.nan
        return distance if math.isfinite(distance) else -1.0
