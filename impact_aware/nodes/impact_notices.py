"""Impact events on their way to the controller: each one once, and only of the arm that it is heard from."""

from __future__ import annotations

from impact_aware_msgs.msg import ImpactEvent
from rclpy.node import Node

from impact_aware.control import ReferenceSpreadingController
from impact_aware.messages.stamps import seconds
from impact_aware.task.arms import Arm

WARN_PERIOD = 5.0
"""Shortest time between two warnings, s."""

MOST_REMEMBERED = 1000
"""Events that are remembered as seen; none comes again after so many others."""


class ImpactNotices:
    """Notifies a controller of contacts made and of contact that is complete.

    A detector may publish an event again, with the same number, once it knows what the event means; only the first
    sight counts. Contact is complete when it is for every arm.

    Attributes:
        sequence: Number of the last event that was acted upon.
    """

    def __init__(self, node: Node, controller: ReferenceSpreadingController) -> None:
        """Nothing has been seen yet."""
        self._node = node
        self._controller = controller
        # A dictionary, as it keeps the order in which they came.
        self._seen: dict[tuple[int, int, int], None] = {}
        self._complete: set[int] = set()
        self.sequence = 0

    def begin(self) -> None:
        """A new motion: a detector that was started anew counts from 1 again."""
        self._seen.clear()
        self._complete.clear()

    def take(self, index: int, arm: Arm, event: ImpactEvent) -> None:
        """Deal with an event that was heard from the arm with this index."""
        if event.arm != arm.name:
            self._node.get_logger().warning(
                f"ignored an impact of arm '{event.arm}' on {arm.topic('impacts')}: expected arm '{arm.name}'",
                throttle_duration_sec=WARN_PERIOD,
            )
            return
        key = (index, int(event.kind), int(event.sequence))
        if key in self._seen:
            return
        self._seen[key] = None
        if len(self._seen) > MOST_REMEMBERED:
            del self._seen[next(iter(self._seen))]
        detected = seconds(event.stamp_detected)
        if event.kind == ImpactEvent.KIND_CONTACT_COMPLETE:
            self._complete.add(index)
            if len(self._complete) == len(self._controller.arms):
                self._controller.notify_contact_complete(detected)
        elif event.kind == ImpactEvent.KIND_CONTACT_MADE:
            impact = seconds(event.header.stamp)
            if self._controller.notify_impact(impact, detected, arm=index, event_sequence=event.sequence):
                self.sequence = event.sequence
