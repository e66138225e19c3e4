"""What the ROS middleware under the nodes can do: a guard that relies on what it can't do must not seem to be there."""

from __future__ import annotations

from rclpy.utilities import get_rmw_implementation_identifier

WITH_LIVELINESS = ("rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp", "rmw_cyclonedds_cpp", "rmw_connextdds")
"""Middlewares over DDS, whose liveliness tells a subscriber that a publisher has died.

rmw_zenoh_cpp is none of them: its older versions reject the event, newer ones accept it and never report it
(docs/interfaces.md, "Middleware").
"""


def middleware() -> str:
    """Name of this process's middleware."""
    return str(get_rmw_implementation_identifier())


def tells_of_death() -> bool:
    """Whether this process's middleware is one of `WITH_LIVELINESS`."""
    return middleware() in WITH_LIVELINESS
