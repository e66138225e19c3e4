"""`Marker` and `MarkerArray`: marker descriptions as messages."""

from __future__ import annotations

from typing import Any

from impact_aware.markers import Changes, Marker
from impact_aware.messages.geometry import write_quaternion, write_vector
from impact_aware.messages.stamps import write_stamp
from impact_aware.messages.types import MessageTypes

TYPE = "visualization_msgs/msg/MarkerArray"
MARKER_TYPE = "visualization_msgs/msg/Marker"

_ADD, _DELETE, _DELETE_ALL = 0, 2, 3
"""Marker.ADD, Marker.DELETE, Marker.DELETEALL."""


def changes_to_message(changes: Changes, types: MessageTypes, time: float = 0.0) -> Any:
    """First what goes, stamped with `time`, s, then what comes."""
    message = types.new(TYPE)
    message.markers = [_deleted(*gone, time, types) for gone in changes.delete]
    message.markers += [_to_message(marker, types) for marker in changes.add]
    return message


def delete_all(types: MessageTypes) -> Any:
    """Takes every marker of this topic away."""
    message, marker = types.new(TYPE), types.new(MARKER_TYPE)
    marker.action = _DELETE_ALL
    message.markers = [marker]
    return message


def _deleted(frame: str, namespace: str, number: int, time: float, types: MessageTypes) -> Any:
    message = types.new(MARKER_TYPE)
    message.header.frame_id, message.ns, message.id, message.action = frame, namespace, number, _DELETE
    write_stamp(message.header.stamp, time)
    return message


def _to_message(marker: Marker, types: MessageTypes) -> Any:
    message = types.new(MARKER_TYPE)
    message.header.frame_id = marker.frame
    write_stamp(message.header.stamp, marker.time)
    message.ns, message.id, message.type, message.action = marker.namespace, marker.id, int(marker.kind), _ADD
    write_vector(message.pose.position, marker.position)
    write_quaternion(message.pose.orientation, marker.orientation)
    write_vector(message.scale, marker.scale)
    message.color.r, message.color.g, message.color.b, message.color.a = marker.color
    write_stamp(message.lifetime, marker.lifetime)
    message.points = [_point(position, types) for position in marker.points.tolist()]
    message.text = marker.text
    return message


def _point(position: list[float], types: MessageTypes) -> Any:
    message = types.new("geometry_msgs/msg/Point")
    write_vector(message, position)
    return message
