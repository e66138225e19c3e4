"""Gains that can be set while a node runs, as long as no arm moves by them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from impact_aware.control import ControlParameters, ControlSession
from impact_aware.errors import ImpactAwareError
from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.parameters import parameter_rows

TUNABLE = frozenset(row.name for row in parameter_rows(ControlParameters) if row.tunable)


class RunTimeGains:
    """The controller's parameters as the node has them now.

    Attributes:
        parameters: In use from the next motion on.
        session: Whose motion they are for; None before there is one.
    """

    def __init__(self, node: Node) -> None:
        """Declare them all; those that are not `tunable` are read only."""
        self._node = node
        self.parameters = self._first = load_settings(node, ControlParameters)
        self.session: ControlSession | None = None
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._take)

    def changed(self) -> dict[str, object]:
        """Those that are not what they were at the start, for diagnostics."""
        now, first = vars(self.parameters), vars(self._first)
        text = ", ".join(f"{name} {value:g}" for name, value in now.items() if value != first[name])
        return {"tuned": text} if text else {}

    def _check(self, wanted: Sequence[Parameter]) -> SetParametersResult:
        values = _tuned(wanted)
        session = self.session
        if values and session is not None and session.mode.follows_field:
            names = ", ".join(values)
            reason = f"{names}: can't be set in mode {session.mode.name}, only while the arm holds"
            return SetParametersResult(successful=False, reason=reason)
        try:
            dataclasses.replace(self.parameters, **values)
        except ImpactAwareError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _take(self, wanted: Sequence[Parameter]) -> None:
        values = _tuned(wanted)
        if not values:
            return
        before, self.parameters = vars(self.parameters), dataclasses.replace(self.parameters, **values)
        if self.session is not None:
            self.session.tune(self.parameters)
        changes = ", ".join(f"{name} {before[name]:g} -> {value:g}" for name, value in values.items())
        self._node.get_logger().info(f"from the next motion on: {changes}")


def _tuned(wanted: Sequence[Parameter]) -> dict[str, Any]:
    return {parameter.name: parameter.value for parameter in wanted if parameter.name in TUNABLE}
