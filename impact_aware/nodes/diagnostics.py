"""One diagnostics status per node: at a low rate, and at once when asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

Report = tuple[bytes, str, Mapping[str, object]]


class DiagnosticsReporter:
    """Publishes on `/diagnostics` what `collect` says."""

    def __init__(self, node: Node, collect: Callable[[], Report], period: float = 0.5) -> None:
        """Start reporting.

        Args:
            node: Whose status it is.
            collect: Returns level, one sentence, and named values.
            period: Time between two reports, s of wall time.
        """
        self._node = node
        self._collect = collect
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        node.create_timer(period, self.report, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def report(self) -> None:
        """Publish now."""
        level, sentence, values = self._collect()
        status = DiagnosticStatus(
            level=level,
            name=self._node.get_fully_qualified_name(),
            message=sentence,
            hardware_id=self._node.get_namespace().strip("/"),
            values=[KeyValue(key=key, value=_text(value)) for key, value in values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
