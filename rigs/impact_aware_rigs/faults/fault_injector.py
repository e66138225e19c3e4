"""Node `fault_injector`: passes joint_states on, with a fault for a limited time that begins on request.

Remap the suite's joint_states to `faulty/joint_states`; the robot's own go into this node. `~/begin` starts the
fault, or the begin of the arm's motion does. Faults of predictions need the field's predicted_jumps remapped to
`faulty/predicted_jumps`; a detector that fires at random publishes on `impacts`, beside the real one. In lockstep this
node is the only participant of the plant, and the suite's step_done is remapped to `faulty/step_done`.
"""

from __future__ import annotations

import array
import sys
from dataclasses import dataclass

import numpy as np
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from impact_aware.messages.stamps import seconds
from impact_aware.nodes.ros.diagnostics import OK, WARN, DiagnosticsReporter, Report
from impact_aware.nodes.ros.messages import stamp
from impact_aware.nodes.ros.qos import EVENT_QOS, state_qos
from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.nodes.ros.runtime import run_node
from impact_aware.parameters import described
from impact_aware.robot.joint_reader import JointReader
from impact_aware_rigs.faults.lockstep import LockstepRelay
from impact_aware_rigs.faults.message_faults import (
    EVENT_FAULTS,
    STATE_FAULTS,
    DelayLine,
    Delivery,
    EventFaults,
    StateFault,
    StateMessage,
)

MOVING = 0.05
"""Joint velocity from which on the arm moves, rad/s."""

FIRST_FALSE_EVENT = 1_000_000
"""Number of the first event that the detector did not find: far from those that it counts."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    fault: str = described("silence", "class of the fault, or `none`", choices=(*STATE_FAULTS, *EVENT_FAULTS, "none"))
    duration: float = described(0.2, "how long it lasts, s of the states' time", 0.001, 3600.0)
    seed: int = described(0, "seed of its numbers", 0, 2**31 - 1)
    after_motion: float = described(
        -1.0, "it begins so long after the arm began to move, s; negative: only on request", -1.0, 3600.0
    )
    lockstep_participants: list[str] = described(
        [], "nodes whose answers to states are waited for before the plant gets one; empty: no lockstep"
    )


class FaultInjectorNode(Node):
    """Passes joint states on, through one fault for a while."""

    def __init__(self) -> None:
        """Create the fault, which begins on request."""
        super().__init__("fault_injector")
        self._settings = settings = load_settings(self, Settings)
        generator = np.random.default_rng(settings.seed)
        self._events = EventFaults(settings.fault, generator)
        self._fault = StateFault(settings.fault, np.random.default_rng(settings.seed))
        self._begin = self._end = float("inf")
        self._requested = False
        self._moving_since = float("inf") if settings.after_motion >= 0.0 else float("nan")
        self._waiting: DelayLine[JointState | ImpactPrediction] = DelayLine()
        self._passed = self._changed = self._false_events = 0
        self._time = 0.0
        participants = settings.lockstep_participants
        self._lockstep = LockstepRelay(self, participants) if participants else None
        # As the nodes do: what they can't use they don't answer.
        self._reader = JointReader([])
        self._publisher = self.create_publisher(JointState, "faulty/joint_states", state_qos(reliable=True))
        self.create_subscription(
            JointState, "joint_states", self._on_state, state_qos(reliable=self._lockstep is not None)
        )
        # A publisher of impacts would hide the death of the detector: there is one only where it must be.
        self._impacts = None
        if settings.fault == "false_detections":
            self._impacts = self.create_publisher(ImpactEvent, "impacts", EVENT_QOS)
        if settings.fault.startswith("prediction_"):
            self._predictions = self.create_publisher(ImpactPrediction, "faulty/predicted_jumps", EVENT_QOS)
            self.create_subscription(ImpactPrediction, "predicted_jumps", self._on_prediction, EVENT_QOS)
        self.create_service(Trigger, "~/begin", self._on_begin)
        self._diagnostics = DiagnosticsReporter(self, self._status, period=0.1)
        self.get_logger().info(f"fault {settings.fault} for {settings.duration:g} s on request")

    def _on_begin(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._requested = True
        response.success, response.message = True, f"{self._settings.fault} begins with the next state"
        return response

    def _on_state(self, message: JointState) -> None:
        self._time = now = seconds(message.header.stamp)
        if self._lockstep is not None:
            self._lockstep.begin(message.header.stamp)
            if not self._all_subscribe:
                return
        self._maybe_begin(message, now)
        acting = self._events.acting = self._begin <= now < self._end
        if not acting:
            self._passed += 1
            self._publish_due()
            self._publish(message)
            return
        self._changed += 1
        given = StateMessage(now, message.name, message.position, message.velocity, message.effort)
        for delivery in self._fault.apply(given):
            self._deliver(message, delivery, now)
        if self._events.detects_falsely():
            self._detect_falsely(message)
        self._publish_due()

    @property
    def _all_subscribe(self) -> bool:
        """Whether every participant subscribes to the states; before that none is passed on."""
        expected = len(self._settings.lockstep_participants)
        return bool(self._passed) or self._publisher.get_subscription_count() >= expected

    def _maybe_begin(self, message: JointState, now: float) -> None:
        if self._moving_since == float("inf") and any(abs(value) > MOVING for value in message.velocity):
            self._moving_since = now
        if now >= self._moving_since + self._settings.after_motion:
            self._moving_since = float("nan")
            self._requested = True
        if self._requested:
            self._requested = False
            self._begin, self._end = now, now + self._settings.duration
            self.get_logger().info(f"{self._settings.fault} from {now:.3f} s on")

    def _deliver(self, original: JointState, delivery: Delivery, now: float) -> None:
        changed = delivery.message
        message = JointState(
            name=list(changed.names),
            position=list(changed.position),
            velocity=list(changed.velocity),
            effort=list(changed.effort),
        )
        message.header.frame_id = original.header.frame_id
        # A message can't hold stamps before the epoch.
        message.header.stamp = stamp(max(changed.time, 1e-9)) if changed.time != now else original.header.stamp
        self._waiting.send(message, self._time + delivery.delay)

    def _publish_due(self) -> None:
        for message in self._waiting.arrived(self._time):
            if isinstance(message, JointState):
                self._publish(message)
            else:
                self._predictions.publish(message)

    def _publish(self, message: JointState) -> None:
        self._publisher.publish(message)
        if self._lockstep is None:
            return
        columns = (message.name, message.position, message.velocity, message.effort)
        if not self._reader.take(seconds(message.header.stamp), *columns):
            self._lockstep.passed_on(message.header.stamp)

    # Detector and predictions

    def _detect_falsely(self, message: JointState) -> None:
        """An impact 3 ms ago that was not."""
        event = ImpactEvent(detector="fault", confidence=1.0)
        event.header.stamp = stamp(max(self._time - 0.003, 1e-9))
        event.stamp_detected = message.header.stamp
        event.sequence = FIRST_FALSE_EVENT + self._false_events
        event.arm = self.get_namespace().strip("/")
        event.joint_names = list(message.name)
        event.position = array.array("d", message.position)
        event.velocity_before = event.velocity_after = array.array("d", message.velocity)
        self._false_events += 1
        if self._impacts is not None:
            self._impacts.publish(event)

    def _on_prediction(self, message: ImpactPrediction) -> None:
        linear = message.object_twist_after.linear
        velocity = self._events.spoil(np.array([linear.x, linear.y, linear.z]))
        if velocity is not None:
            linear.x, linear.y, linear.z = velocity.tolist()
        self._changed += 1
        self._waiting.send(message, self._time + self._events.prediction_delay())

    def _status(self) -> Report:
        acting = self._begin <= self._time < self._end
        values: dict[str, object] = {"fault": self._settings.fault, "severity": self._fault.severity, "acting": acting}
        values |= {"passed": self._passed, "changed": self._changed, "time": self._time}
        values["begun"] = self._begin < float("inf")
        if self._lockstep is not None:
            values["absent"] = ", ".join(sorted(self._lockstep.absent))
        return (WARN, "a fault acts", values) if acting else (OK, "passing states on", values)


def main() -> None:
    """Run the node."""
    sys.exit(run_node(FaultInjectorNode))
