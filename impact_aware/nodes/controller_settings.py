"""Parameters of `rs_controller`, and its gains, which can be set while it runs as long as no arm moves by them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from impact_aware.control import ControlParameters, ControlSession
from impact_aware.control.local_law import (
    DEFAULT_VALIDITY,
    HIGHEST_RATE,
    LONGEST_VALIDITY,
    LOWEST_RATE,
    SHORTEST_VALIDITY,
)
from impact_aware.errors import ImpactAwareError
from impact_aware.parameters import described, parameter_rows
from impact_aware.robot.profile import INTERFACES
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.task.arms import Arm, several_arms, single_arm

TUNABLE = frozenset(row.name for row in parameter_rows(ControlParameters) if row.tunable)


@dataclass(frozen=True)
class Settings:
    """Parameters of the node, besides those of the controller."""

    robot: str = described("panda", "robot profile of a single arm, by name or file")
    arm: str = described("", "name of a single arm; empty: the node's namespace")
    arms: list[str] = described([], "names of several arms, which stand before their topics; empty: a single arm")
    robots: list[str] = described(["panda"], "robot profiles of several arms: one for all, or one each")
    joint_prefixes: list[str] = described(
        [], "what stands before the names of each arm's joints, such as left_; empty: nothing"
    )
    bases: list[float] = described(
        [],
        "pose of each base in the field's frame: x, y, z (m) and yaw, or roll, pitch, yaw (rad), or a quaternion "
        "x, y, z, w; empty for a single arm: the field's frame is its base frame",
    )
    bases_from_task: bool = described(
        False, "the bases are those of the task, which reference_field looks up in TF; it is not configured before"
    )
    autostart: bool = described(False, "configure, activate and start without a request")
    command_interface: str = described(
        "effort", "what the arms are commanded by: a torque for each state, or laws between two", choices=INTERFACES
    )
    law_rate: float = described(250.0, "rate of the laws, Hz", LOWEST_RATE, HIGHEST_RATE)
    law_validity: float = described(
        DEFAULT_VALIDITY, "time from its state for which a law may be applied, s", SHORTEST_VALIDITY, LONGEST_VALIDITY
    )
    state_timeout: float = described(
        0.1, "time without joint_states after which the arm goes to the safe mode, s of wall time", 0.005, 60.0
    )
    goal_tolerance: float = described(0.01, "distance from the goal at which the task is done, m", 1e-4, 1.0)
    give_up: float = described(1.0, "time at rest away from the goal after which the task is over, s", 0.1, 60.0)
    state_decimation: int = described(10, "controller_state comes every so many cycles", 1, 1000)
    upstream_timeout: float = described(
        0.5, "time without a heartbeat of a node that the motion needs, after which it is lost, s", 0.2, 60.0
    )
    convention_declared: bool = described(
        True, "the driver's file declares command_includes_gravity too; else the first states of an arm decide"
    )
    joint_order_required: bool = described(
        False, "refuse the motion where the order of joints can't be read from the arm's controller"
    )
    watchdog: bool = described(False, "go on only while heartbeats of command_watchdog come, and it can stop the arms")
    watchdog_timeout: float = described(
        0.1, "time without its heartbeat after which the arm goes to the safe mode, s of wall time", 0.05, 60.0
    )
    lockstep: bool = described(False, "answer every state with step_done, for a simulator in lockstep")

    def make_arms(self, namespace: str, bases: list[float]) -> tuple[Arm, ...]:
        """The arms of a node in a namespace, with their bases there.

        Raises:
            ImpactAwareError: A profile can't be loaded, or numbers that don't fit.
        """
        if self.arms:
            return several_arms(self.arms, self.robots, bases, self.joint_prefixes)
        return single_arm(self.arm or namespace.strip("/"), self.robot, bases, "".join(self.joint_prefixes[:1]))


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
        """Parameters that differ from their values at the start, for diagnostics."""
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
