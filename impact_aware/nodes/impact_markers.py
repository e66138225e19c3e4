"""Node `impact_markers`: predicted jump, contact and reference field as markers; TF of the contact frame."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, TransformStamped, Vector3
from impact_aware_msgs.msg import ContactImpulse, ImpactPrediction
from impact_aware_msgs.msg import ReferenceField as ReferenceFieldMessage
from rclpy.node import Node
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from impact_aware.contact.geometry import contact_axes
from impact_aware.errors import ImpactAwareError
from impact_aware.nodes.field_conversions import field_from_message
from impact_aware.nodes.geometry import array3, point, quaternion
from impact_aware.nodes.qos import EVENT_QOS, LATCHED_EVENT_QOS, STREAM_QOS
from impact_aware.nodes.ros_parameters import load_settings
from impact_aware.nodes.runtime import run_node
from impact_aware.parameters import described
from impact_aware.reference import ReferenceField, streamline
from impact_aware.reference.rotation import quaternion_from_rotation

try:
    from tf2_ros import TransformBroadcaster
except ImportError:
    TransformBroadcaster = None

Color = tuple[float, float, float, float]

BEFORE: Color = (0.25, 0.45, 0.85, 1.0)
PREDICTED: Color = (0.90, 0.50, 0.10, 1.0)
IMPULSE: Color = (0.75, 0.15, 0.15, 1.0)
NORMAL: Color = (0.35, 0.35, 0.35, 1.0)
GHOST: Color = (0.90, 0.50, 0.10, 0.35)
FIELD: Color = (0.20, 0.60, 0.35, 0.8)

NAMES_OF_SOURCES = {
    ImpactPrediction.SOURCE_LOOK_AHEAD: "look_ahead",
    ImpactPrediction.SOURCE_AT_IMPACT: "at_impact",
    ImpactPrediction.SOURCE_PLANT: "plant",
}


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    robot: str = described("panda", "robot profile; kept for uniform launch files")
    velocity_scale: float = described(0.4, "length of a velocity arrow, m per m/s", 1e-3, 100.0)
    impulse_scale: float = described(0.2, "length of an impulse arrow, m per N s", 1e-3, 100.0)
    look_ahead_lifetime: float = described(0.3, "how long look-ahead markers stay, s", 0.0, 100.0)
    impact_lifetime: float = described(0.0, "how long markers of an impact stay, s; 0: until the next one", 0.0, 1e6)
    ghost_time: float = described(0.3, "the ghost stands where the object would be after this time, s", 0.0, 100.0)
    field_radius: float = described(0.35, "half width of the drawn part of the ante-impact field, m", 0.0, 10.0)
    field_count: int = described(7, "arrows of the field along each side", 0, 50)
    contact_frame: str = described("contact", "name of the contact frame in TF, after the node's namespace")


class ImpactMarkersNode(Node):
    """Draws what the other nodes publish; nothing in the control path waits for it."""

    def __init__(self) -> None:
        """Subscribe and publish."""
        super().__init__("impact_markers")
        self._settings = load_settings(self, Settings)
        self._publisher = self.create_publisher(MarkerArray, "impact_markers", STREAM_QOS)
        self._broadcaster = TransformBroadcaster(self) if TransformBroadcaster is not None else None
        if self._broadcaster is None:
            self.get_logger().info("tf2_ros is not installed: no TF of the contact frame")
        # Two arms share one TF tree.
        self._contact_frame = f"{self.get_namespace().strip('/')}/{self._settings.contact_frame}".lstrip("/")
        self._half_extents = np.zeros(3)
        self.create_subscription(ImpactPrediction, "predicted_jumps", self._on_prediction, EVENT_QOS)
        self.create_subscription(ImpactPrediction, "true_impacts", self._on_prediction, STREAM_QOS)
        self.create_subscription(ReferenceFieldMessage, "reference_field", self._on_field, LATCHED_EVENT_QOS)

    def _on_prediction(self, prediction: ImpactPrediction) -> None:
        source = NAMES_OF_SOURCES.get(prediction.source)
        if source is None or not prediction.valid or not prediction.contacts:
            return
        markers: list[Marker] = []
        for index, contact in enumerate(prediction.contacts):
            markers += self._contact_markers(prediction.header, source, index, contact)
        if prediction.object and self._half_extents.any() and prediction.source != ImpactPrediction.SOURCE_PLANT:
            markers.append(self._ghost(prediction, source))
        look_ahead = prediction.source == ImpactPrediction.SOURCE_LOOK_AHEAD
        lifetime = self._settings.look_ahead_lifetime if look_ahead else self._settings.impact_lifetime
        for marker in markers:
            marker.lifetime = Duration(sec=int(lifetime), nanosec=int(1e9 * (lifetime % 1.0)))
        self._publisher.publish(MarkerArray(markers=markers))
        self._broadcast(prediction.header, prediction.contacts[0])

    def _contact_markers(self, header: Header, source: str, index: int, contact: ContactImpulse) -> Iterable[Marker]:
        origin = array3(contact.point)
        settings = self._settings
        sphere = _marker(header, f"{source}/contact", index, Marker.SPHERE, NORMAL)
        sphere.pose.position = contact.point
        sphere.scale = Vector3(x=0.015, y=0.015, z=0.015)
        arrows = (
            ("normal", array3(contact.normal) * 0.1, NORMAL),
            ("velocity_before", array3(contact.velocity_before) * settings.velocity_scale, BEFORE),
            ("velocity_after", array3(contact.velocity_after) * settings.velocity_scale, PREDICTED),
            ("impulse", array3(contact.impulse) * settings.impulse_scale, IMPULSE),
        )
        drawn = [_arrow(header, f"{source}/{name}", index, origin, vector, color) for name, vector, color in arrows]
        return [sphere, *drawn]

    def _ghost(self, prediction: ImpactPrediction, source: str) -> Marker:
        ghost = _marker(prediction.header, f"{source}/object_after", 0, Marker.CUBE, GHOST)
        moved = array3(prediction.object_position)
        moved = moved + self._settings.ghost_time * array3(prediction.object_twist_after.linear)
        ghost.pose.position = point(moved)
        ghost.scale = Vector3(**dict(zip("xyz", (2.0 * self._half_extents).tolist(), strict=True)))
        return ghost

    def _on_field(self, message: ReferenceFieldMessage) -> None:
        try:
            field = field_from_message(message)
        except ImpactAwareError:
            return
        self._half_extents = field.object_half_extents
        markers = [self._object(message.header, field)]
        for index, _ in enumerate(field.arms):
            markers += self._field_markers(message.header, field, index)
        self._publisher.publish(MarkerArray(markers=markers))

    def _object(self, header: Header, field: ReferenceField) -> Marker:
        goal = _marker(header, "goal", 0, Marker.CUBE, (0.2, 0.6, 0.35, 0.25))
        goal.pose.position = point(field.goal)
        goal.scale = Vector3(**dict(zip("xyz", (2.0 * field.object_half_extents).tolist(), strict=True)))
        return goal

    def _field_markers(self, header: Header, field: ReferenceField, arm: int) -> list[Marker]:
        """Arrows of the ante-impact field in the horizontal plane of the impact place, and the way to it."""
        settings = self._settings
        ante = field.ante_impact(arm)
        centre = field.arms[arm].impact_position
        arrows = _marker(header, f"field/{arm}/arrows", 0, Marker.LINE_LIST, FIELD)
        arrows.scale.x = 0.003
        ticks = np.linspace(-settings.field_radius, settings.field_radius, settings.field_count)
        for x in ticks:
            for y in ticks:
                start = centre + np.array([x, y, 0.0])
                arrows.points += [point(start), point(start + 0.12 * ante.velocity(start))]
        away = centre - settings.field_radius * field.arms[arm].impact_velocity / np.linalg.norm(
            field.arms[arm].impact_velocity
        )
        line = _marker(header, f"field/{arm}/streamline", 0, Marker.LINE_STRIP, FIELD)
        line.scale.x = 0.006
        way = streamline(ante.velocity, away + np.array([0.0, 0.0, 0.1]), duration=1.0, step=0.02)
        line.points = [point(position) for position in way]
        return [arrows, line]

    def _broadcast(self, header: Header, contact: ContactImpulse) -> None:
        if self._broadcaster is None:
            return
        transform = TransformStamped(header=header, child_frame_id=self._contact_frame)
        place = transform.transform.translation
        place.x, place.y, place.z = contact.point.x, contact.point.y, contact.point.z
        # The frame's z axis is the normal, its x and y axes are the contact's tangents.
        frame = contact_axes(array3(contact.normal))[[1, 2, 0]].T
        transform.transform.rotation = quaternion(quaternion_from_rotation(frame))
        self._broadcaster.sendTransform(transform)


def _marker(header: Header, namespace: str, index: int, kind: int, color: Color) -> Marker:
    marker = Marker(header=header, ns=namespace, id=index, type=kind, action=Marker.ADD)
    marker.color = ColorRGBA(r=color[0], g=color[1], b=color[2], a=color[3])
    marker.pose.orientation.w = 1.0
    return marker


def _arrow(header: Header, namespace: str, index: int, start: np.ndarray, vector: np.ndarray, color: Color) -> Marker:
    marker = _marker(header, namespace, index, Marker.ARROW, color)
    ends: list[Point] = [point(start), point(start + vector)]
    marker.points = ends
    marker.scale = Vector3(x=0.008, y=0.016, z=0.0)
    return marker


def main() -> None:
    """Run the node."""
    sys.exit(run_node(ImpactMarkersNode))


if __name__ == "__main__":
    main()
