"""What becomes of an exception in a callback: it is logged, counted on `/diagnostics`, and the node goes on."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node

from impact_aware.errors import ImpactAwareError, one_line, one_reason

LOG_PERIOD = 5.0
"""Shortest time between two lines about failures of the same kind, s."""

MOST_KINDS = 50
"""Most kinds of failures that are counted separately; the rest are counted together."""

OTHERS = "others"


class Supervision:
    """The failures of the callbacks of this process.

    Attributes:
        failures: Count of each kind: what was raised and where.
    """

    def __init__(self) -> None:
        """Nothing has failed yet."""
        self.failures: Counter[str] = Counter()
        self._logged: dict[str, float] = {}

    def note(self, nodes: Sequence[Node], error: Exception) -> None:
        """Count an exception and log it; nodes that have `survive` bring their arms to safety.

        Args:
            nodes: All nodes on the executor, which does not report whose callback failed.
            error: What was raised.
        """
        kind = _kind(error)
        if kind not in self.failures and len(self.failures) >= MOST_KINDS:
            kind = OTHERS
        self.failures[kind] += 1
        now = time.monotonic()
        if nodes and now - self._logged.get(kind, -LOG_PERIOD) >= LOG_PERIOD:
            self._logged[kind] = now
            nodes[0].get_logger().error(_described(error, kind, self.failures[kind]))
        for node in nodes:
            survive = getattr(node, "survive", None)
            if survive is not None:
                survive(error)

    def values(self) -> dict[str, object]:
        """The counts as named values of a status."""
        return {f"failed: {kind}": count for kind, count in self.failures.items()}

    def answer_always(self, nodes: Sequence[Node]) -> None:
        """Let each service answer also when its callback raises, for which its client would wait for ever.

        Setting a parameter is refused with the reason: ROS' own service raises for types that there are not.
        """
        for node in nodes:
            for service in node.services:
                service.callback = partial(self._answer, service.callback, nodes)

    def _answer(self, callback: Callable[[Any, Any], Any], nodes: Sequence[Node], request: Any, response: Any) -> Any:
        try:
            return callback(request, response)
        except Exception as error:  # whatever a callback raised
            refused = SetParametersResult(successful=False, reason=one_reason(error))
            if isinstance(response, SetParameters.Response):
                response.results = [refused] * len(request.parameters)
            elif isinstance(response, SetParametersAtomically.Response):
                response.result = refused
            else:
                self.note(nodes, error)
            return response


def _kind(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


def _described(error: Exception, kind: str, count: int) -> str:
    times = "" if count == 1 else f", {count} times so far"
    if isinstance(error, ImpactAwareError):
        return f"a callback failed{times}: {one_line(str(error))}"
    return f"a callback failed{times}, {kind}:\n{''.join(traceback.format_exception(error)).rstrip()}"


SUPERVISION = Supervision()
"""The failures of this process."""
