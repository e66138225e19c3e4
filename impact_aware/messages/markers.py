"""Marker descriptions as messages."""

from __future__ import annotations

from collections.abc import Iterable

from builtin_interfaces.msg import Duration
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker as MarkerMessage
from visualization_msgs.msg import MarkerArray

from impact_aware.markers import Changes, Marker
from impact_aware.messages.geometry import point, quaternion, vector3
from impact_aware.messages.stamps import stamp


def changes_to_message(changes: Changes) -> MarkerArray:
    """First what goes, then what comes."""
    gone = [
        MarkerMessage(header=Header(frame_id=frame), ns=namespace, id=number, action=MarkerMessage.DELETE)
        for frame, namespace, number in changes.delete
    ]
    return MarkerArray(markers=[*gone, *markers_to_messages(changes.add)])


def delete_all() -> MarkerArray:
    """Takes every marker of this topic away."""
    return MarkerArray(markers=[MarkerMessage(action=MarkerMessage.DELETEALL)])


def markers_to_messages(markers: Iterable[Marker]) -> list[MarkerMessage]:
    """One message per marker."""
    return [_message(marker) for marker in markers]


def _message(marker: Marker) -> MarkerMessage:
    message = MarkerMessage(ns=marker.namespace, id=marker.id, type=int(marker.kind), action=MarkerMessage.ADD)
    message.header.frame_id = marker.frame
    message.header.stamp = stamp(marker.time)
    message.pose.position = point(marker.position)
    message.pose.orientation = quaternion(marker.orientation)
    message.scale = vector3(marker.scale)
    red, green, blue, opacity = marker.color
    message.color = ColorRGBA(r=red, g=green, b=blue, a=opacity)
    message.points = [point(place) for place in marker.points.tolist()]
    message.text = marker.text
    message.lifetime = Duration(sec=int(marker.lifetime), nanosec=round(1e9 * (marker.lifetime % 1.0)))
    return message
