"""One diagnostics status per node, published at a low rate and on request."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import struct
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from impact_aware.bringup.middleware import RANGE, RMW, chosen_by_user, stays_local
from impact_aware.ros.supervision import SUPERVISION
from impact_aware.ros.timers import steady_timer

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

Report = tuple[bytes, str, Mapping[str, object]]

REQUEST = "request"
"""Reason under which requests are counted that can't be met: their client learns it from the answer."""


class DiagnosticsReporter:
    """Publishes the node's status on `/diagnostics`."""

    def __init__(self, node: Node, collect: Callable[[], Report], period: float = 0.5) -> None:
        """Start reporting every `period`, s of wall time; `collect` gives level, one sentence, and named values."""
        self._node = node
        self._own = collect
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        # Wall time, so that the status comes also while a simulator's clock stands still.
        steady_timer(node, period, self.report)

    def _collect(self) -> Report:
        """The node's own report, and what failed in its process."""
        level, sentence, values = self._own()
        if exposed := _exposed():
            self._node.get_logger().warning(exposed, once=True)
            level, sentence = (WARN, exposed) if level == OK else (level, sentence)
        values = {**values, "listens on": _listening()}
        if not SUPERVISION.failures:
            return level, sentence, values
        failed = f"{SUPERVISION.failures.total()} callbacks failed"
        worst = max(level, ERROR)
        return worst, sentence if level == ERROR else failed, {**values, **SUPERVISION.values()}

    def report(self) -> None:
        """Publish now."""
        self._publisher.publish(self.message())

    def message(self) -> DiagnosticArray:
        """The status now."""
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
        return message


@functools.cache
def listening_addresses() -> tuple[str, ...]:
    """Addresses on which this process receives datagrams and connections, which Linux knows; none elsewhere."""
    found: set[str] = set()
    with contextlib.suppress(OSError):
        own = {os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if os.path.islink(entry.path)}
        for kind in ("udp", "tcp", "udp6", "tcp6"):
            for row in map(str.split, Path(f"/proc/self/net/{kind}").read_text().splitlines()[1:]):
                # Columns: local address, as hexadecimal words in this machine's order of bytes; 3 the state, of which
                # 0A is a listening one; 9 the socket's inode.
                if f"socket:[{row[9]}]" in own and (kind.startswith("udp") or row[3] == "0A"):
                    word = row[1].partition(":")[0]
                    packed = [struct.pack("=I", int(word[k : k + 8], 16)) for k in range(0, len(word), 8)]
                    family = socket.AF_INET if len(packed) == 1 else socket.AF_INET6
                    found.add(socket.inet_ntop(family, b"".join(packed)))
    return tuple(sorted(found))


def _listening() -> str:
    return ", ".join("every address" if own in ("0.0.0.0", "::") else own for own in listening_addresses())


def _exposed() -> str:
    """Return what to warn of where this process listens beyond this machine though it is wanted not to; else empty."""
    if not stays_local(os.environ) or all(ip_address(own).is_loopback for own in listening_addresses()):
        return ""
    chosen = " and ".join(chosen_by_user(os.environ)) or os.environ.get(RMW, "the middleware")
    return f"listens on {_listening()} although {RANGE}=LOCALHOST, as {chosen} has it"


def refusals(counts: Mapping[str, int]) -> dict[str, object]:
    """How often something was refused, by reason, as named values of a status."""
    return {f"refused: {reason}": count for reason, count in counts.items()}


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
