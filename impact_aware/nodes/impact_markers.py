"""Node `impact_markers`: contact, jump, object and reference field as markers; TF of the contact frame."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import TransformStamped
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from impact_aware_msgs.msg import ReferenceField as ReferenceFieldMessage
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from impact_aware.contact.geometry import vector as checked_vector
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.markers import Changes, Marker, MarkerBoard, MarkerStyle, SceneMarkers
from impact_aware.markers.contact import contact_orientation
from impact_aware.messages.geometry import write_quaternion, write_vector
from impact_aware.messages.impact_event import CONTACT_MADE, outcome_of_event
from impact_aware.messages.impact_prediction import SOURCES, drawable_impact
from impact_aware.messages.marker import changes_to_message, delete_all
from impact_aware.messages.object_pose import TYPES, object_pose
from impact_aware.messages.reference_field import field_from_message
from impact_aware.messages.stamps import seconds, stamp_seconds, write_stamp
from impact_aware.nodes.object_poses import OBJECT_QOS
from impact_aware.parameters import described
from impact_aware.records.impact import DRAWN, Impact
from impact_aware.ros.diagnostics import OK, WARN, DiagnosticsReporter, Report, refusals
from impact_aware.ros.liveness import TwinWatch
from impact_aware.ros.messages import ROS, message_class
from impact_aware.ros.qos import LATCHED_QOS, STREAM_QOS, own_and_common
from impact_aware.ros.readiness import Readiness
from impact_aware.ros.robot_source import provide_robot
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware.ros.timers import steady_timer

try:
    from tf2_ros import TransformBroadcaster
except ImportError:
    TransformBroadcaster = None

STYLE = MarkerStyle()

_DRAWN = tuple(SOURCES[name] for name in DRAWN)

WARN_PERIOD = 5.0
"""Shortest time between two warnings, s."""

MOST_IMPACTS = 50
"""Impacts that one drawing takes up, the latest; arms have one or two in that time."""

TIME_JUMP = 1.0
"""The clock going back by more than this begins another run, s."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    robot: str = described("panda", "robot profile, by name or file; empty: take robot_description")
    arm: str = described("", "name of the arm, first part of its marker namespaces; empty: the node's namespace")
    frame_prefix: str = described("", "put before the arm's own frames, as robot_state_publisher's frame_prefix")
    object_pose_type: str = described("pose", "what object_pose is published as", choices=tuple(TYPES))
    rate: float = described(10.0, "how often the scene is drawn anew where it changed, Hz", 0.1, 100.0)
    look_ahead_lifetime: float = described(STYLE.look_ahead_lifetime, "how long look-ahead markers stay, s", 0.0, 100.0)
    impact_lifetime: float = described(
        STYLE.impact_lifetime, "how long markers of an impact stay, s; 0: until the next one", 0.0, 1e6
    )
    ghost_time: float = described(
        STYLE.ghost_time, "the ghost stands where the object would be after this time, s", 0.0, 100.0
    )
    legend: bool = described(STYLE.legend, "show a legend of the colours")
    legend_position: list[float] = described([*STYLE.legend_position], "first line of the legend, m")
    whole_scene: bool = described(
        False, "every message has the whole scene, which a viewer of a recording needs to jump to any time"
    )
    contact_frame: str = described("contact", "name of the contact frame in TF, after the node's namespace")

    def style(self) -> MarkerStyle:
        """Settings of the markers' appearance.

        Raises:
            InvalidInputError: A position that is not three numbers.
        """
        own = {field.name: getattr(self, field.name) for field in fields(MarkerStyle) if hasattr(self, field.name)}
        own["legend_position"] = tuple(checked_vector("parameter legend_position", self.legend_position, 3).tolist())
        return MarkerStyle(**own)


class ImpactMarkersNode(Node):
    """Draws what the other nodes publish, a few times a second; nothing in the control path waits for it.

    Attributes:
        rest: Less than the time between two drawings.
    """

    rest = 0.02

    def __init__(self, **ros: Any) -> None:
        """Subscribe and publish; `ros` goes to rclpy's node."""
        super().__init__("impact_markers", **ros)
        settings = load_settings(self, Settings)
        namespace = self.get_namespace().strip("/")
        self._scene = SceneMarkers(settings.style(), arm=settings.arm or namespace, frame_prefix=settings.frame_prefix)
        self._board = MarkerBoard()
        self._viewers = 0
        self._whole = settings.whole_scene
        self._time = 0.0
        self._refused: Counter[str] = Counter()
        self._impacts: deque[ImpactPrediction] = deque(maxlen=MOST_IMPACTS)
        self._latest: dict[str, ImpactEvent | ReferenceFieldMessage | ImpactPrediction | Any] = {}
        self._publisher = self.create_publisher(MarkerArray, "impact_markers", STREAM_QOS)
        self._broadcaster = TransformBroadcaster(self) if TransformBroadcaster is not None else None
        if self._broadcaster is None:
            self.get_logger().info("tf2_ros is not installed: no TF of the contact frame")
        # Two arms share one TF tree.
        self._contact_frame = f"{namespace}/{settings.contact_frame}".lstrip("/")
        provide_robot(self, settings.robot, "", partial(setattr, self._scene, "robot"))
        # Without a lease: a player of recordings offers none.
        self.create_subscription(ImpactPrediction, "predicted_jumps", self._on_impact, STREAM_QOS)
        self.create_subscription(ImpactPrediction, "true_impacts", self._on_impact, STREAM_QOS)
        for topic in own_and_common(namespace, "common_jumps")[1:]:
            self.create_subscription(ImpactPrediction, topic, self._on_common, STREAM_QOS)
        self.create_subscription(ImpactEvent, "impacts", self._on_event, STREAM_QOS)
        for topic in own_and_common(namespace, "reference_field"):
            self.create_subscription(ReferenceFieldMessage, topic, partial(self._keep, "field"), LATCHED_QOS)
        kind = message_class(TYPES[settings.object_pose_type])
        self.create_subscription(kind, "object_pose", partial(self._keep, "object"), OBJECT_QOS)
        self._twins = TwinWatch(self)
        self._readiness = Readiness(self)
        # Wall time: a paused replay is drawn too.
        steady_timer(self, 1.0 / settings.rate, self._draw)
        self._diagnostics = DiagnosticsReporter(self, self._status)

    def _keep(self, name: str, message: Any) -> None:
        self._latest[name] = message

    def _on_impact(self, message: ImpactPrediction) -> None:
        if message.source == SOURCES["look_ahead"]:
            self._latest["look_ahead"] = message
        else:
            self._impacts.append(message)

    def _on_common(self, message: ImpactPrediction) -> None:
        if message.arm == self._scene.arm:
            self._impacts.append(message)

    def _on_event(self, message: ImpactEvent) -> None:
        # The end of a sequence, a moment later, must not hide the impact.
        if message.kind == CONTACT_MADE:
            self._latest["event"] = message

    def _draw(self) -> None:
        """Turn what came since the last time into markers, and publish what changed."""
        now = seconds(self.get_clock().now().to_msg())
        if now < self._time - TIME_JUMP:
            # A replay began again: what it had shown is yet to happen.
            self._board.clear()
            self._scene.clear()
            self._publisher.publish(delete_all(ROS))
        self._time = now
        changes = [self._board.show(group, markers, now) for group, markers in self._new_markers().items()]
        if any(changes):
            legend = self._scene.legend(self._board.namespaces(now))
            changes.append(self._board.show("legend", legend, now))
        viewers, before = self._publisher.get_subscription_count(), self._viewers
        self._viewers = viewers
        if viewers > before or (self._whole and any(changes)):
            # A viewer that joins late gets the whole scene.
            gone = tuple(name for change in changes for name in change.delete)
            self._publisher.publish(changes_to_message(Changes(self._board.everything(now), gone), ROS))
            return
        for change in changes:
            if change:
                self._publisher.publish(changes_to_message(change, ROS))

    def _new_markers(self) -> dict[str, list[Marker]]:
        """What came since the last time, as markers; what can't be drawn is dropped, and the scene begins anew."""
        try:
            self._take()
            return self._scene.take_changes()
        except (ImpactAwareError, ValueError) as error:
            self._refused["not drawable"] += 1
            self._scene.clear()
            self.get_logger().warning(f"can't be drawn: {error}", throttle_duration_sec=WARN_PERIOD)
            return {}

    def _take(self) -> None:
        latest, self._latest = self._latest, {}
        impacts = list(self._impacts)
        self._impacts.clear()
        if "field" in latest:
            self._take_field(latest["field"])
        if "object" in latest:
            self._take_object(latest["object"])
        if "look_ahead" in latest:
            impacts = [latest["look_ahead"], *impacts]
        for message in impacts:
            impact = drawable_impact(message)
            if impact is not None:
                self._scene.add_impact(impact)
                if impact.source != "plant":
                    self._broadcast(impact)
            elif message.valid and message.source in _DRAWN and message.contacts:
                self._refused["prediction not usable"] += 1
        if "event" in latest:
            outcome = outcome_of_event(latest["event"])
            if outcome is not None:
                self._scene.add_outcome(outcome)
            elif len(latest["event"].velocity_after):
                self._refused["impact not usable"] += 1

    def _take_object(self, message: Any) -> None:
        """In the frame in which it was seen: who draws it looks that up."""
        try:
            seen = object_pose(message)
        except InvalidInputError:
            self._refused["object_pose not usable"] += 1
            return
        turn = pin.Quaternion(seen.pose.rotation).coeffs()
        self._scene.add_object(seen.frame, seen.time, np.array(seen.pose.translation), turn)

    def _take_field(self, message: ReferenceFieldMessage) -> None:
        try:
            self._scene.add_field(field_from_message(message), stamp_seconds(message))
        except ImpactAwareError as error:
            self._refused["reference_field not usable"] += 1
            self.get_logger().warning(f"a reference field can't be drawn: {error}", throttle_duration_sec=WARN_PERIOD)

    def _status(self) -> Report:
        values = refusals(self._refused)
        return (WARN, "left out what can't be drawn", values) if values else (OK, "drawing", values)

    def _broadcast(self, impact: Impact) -> None:
        if self._broadcaster is None:
            return
        contact = impact.contacts[0]
        transform = TransformStamped(child_frame_id=self._contact_frame)
        transform.header.frame_id = self._scene.frame_of(impact.frame)
        write_stamp(transform.header.stamp, impact.time)
        write_vector(transform.transform.translation, contact.point)
        write_quaternion(transform.transform.rotation, contact_orientation(contact.normal))
        self._broadcaster.sendTransform(transform)


main = partial(run_node, ImpactMarkersNode)
