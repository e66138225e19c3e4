"""Node `fault_injector`: joint_states in, the same with a fault out, for a stretch of time that begins when asked.

Remap the suite's joint_states to `faulty/joint_states`; the robot's own go into this node. `~/begin` starts the
fault, or the begin of the arm's motion does.
"""

from __future__ import annotations

import heapq
import sys
from dataclasses import dataclass
from typing import NamedTuple

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from impact_aware.faults.state_faults import STATE_FAULTS, Delivery, StateMessage, make_state_fault
from impact_aware.nodes.diagnostics import OK, WARN, DiagnosticsReporter, Report
from impact_aware.nodes.qos import state_qos
from impact_aware.nodes.ros_parameters import load_settings
from impact_aware.nodes.runtime import run_node
from impact_aware.nodes.stamps import seconds, stamp
from impact_aware.parameters import described

MOVING = 0.05
"""Joint velocity from which on the arm moves, rad/s."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    fault: str = described("silence", "class of the fault", choices=tuple(STATE_FAULTS))
    duration: float = described(0.2, "how long it lasts, s of the states' time", 0.001, 3600.0)
    seed: int = described(0, "seed of its numbers", 0, 2**31 - 1)
    after_motion: float = described(
        -1.0, "it begins so long after the arm began to move, s; negative: only when asked", -1.0, 3600.0
    )


class _Due(NamedTuple):
    time: float
    number: int
    message: JointState


class FaultInjectorNode(Node):
    """Passes joint states on, through one fault for a while."""

    def __init__(self) -> None:
        """Make the fault; it begins when asked."""
        super().__init__("fault_injector")
        self._settings = settings = load_settings(self, Settings)
        self._fault = make_state_fault(settings.fault, settings.seed)
        self._begin = self._end = float("inf")
        self._asked = False
        self._moving_since = float("inf") if settings.after_motion >= 0.0 else float("nan")
        self._waiting: list[_Due] = []
        self._number = self._passed = self._changed = 0
        self._time = 0.0
        self._publisher = self.create_publisher(JointState, "faulty/joint_states", state_qos(reliable=True))
        self.create_subscription(JointState, "joint_states", self._on_state, state_qos(reliable=False))
        self.create_service(Trigger, "~/begin", self._on_begin)
        self._diagnostics = DiagnosticsReporter(self, self._status, period=0.1)
        self.get_logger().info(f"fault {settings.fault} for {settings.duration:g} s when asked")

    def _on_begin(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._asked = True
        response.success, response.message = True, f"{self._settings.fault} begins with the next state"
        return response

    def _on_state(self, message: JointState) -> None:
        self._time = now = seconds(message.header.stamp)
        if self._moving_since == float("inf") and any(abs(value) > MOVING for value in message.velocity):
            self._moving_since = now
        if now >= self._moving_since + self._settings.after_motion:
            self._moving_since = float("nan")
            self._asked = True
        if self._asked:
            self._asked = False
            self._begin, self._end = now, now + self._settings.duration
            self.get_logger().info(f"{self._settings.fault} from {now:.3f} s on")
        if not self._begin <= now < self._end:
            self._passed += 1
            self._publish_due()
            self._publisher.publish(message)
            return
        self._changed += 1
        given = StateMessage(now, message.name, message.position, message.velocity, message.effort)
        for delivery in self._fault.apply(given):
            self._deliver(message, delivery, now)
        self._publish_due()

    def _deliver(self, original: JointState, delivery: Delivery, now: float) -> None:
        changed = delivery.message
        message = JointState(
            name=list(changed.names),
            position=list(changed.position),
            velocity=list(changed.velocity),
            effort=list(changed.effort),
        )
        message.header.frame_id = original.header.frame_id
        # Stamps before the epoch can't be said in a message.
        message.header.stamp = stamp(max(changed.time, 1e-9)) if changed.time != now else original.header.stamp
        self._number += 1
        heapq.heappush(self._waiting, _Due(now + delivery.delay, self._number, message))

    def _publish_due(self) -> None:
        while self._waiting and self._waiting[0].time <= self._time:
            self._publisher.publish(heapq.heappop(self._waiting).message)

    def _status(self) -> Report:
        acting = self._begin <= self._time < self._end
        values = {"fault": self._settings.fault, "severity": self._fault.severity, "acting": acting}
        values |= {"passed": self._passed, "changed": self._changed, "time": self._time}
        return (WARN, "a fault acts", values) if acting else (OK, "passing states on", values)


def main() -> None:
    """Run the node."""
    sys.exit(run_node(FaultInjectorNode))


if __name__ == "__main__":
    main()
