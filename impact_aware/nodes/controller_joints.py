"""Joint order of the ros2_control controllers that take an arm's commands, read back from their parameter `joints`.

A forward controller writes the numbers of a command to its joints in the order of that parameter, whatever the arm's
model has: in another order each torque drives another joint.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.task import Future

from impact_aware.task.arms import Arm

ASK_PERIOD = 2.0
"""Wall time after which a controller is asked again, s: it may have been started anew with other parameters."""


class ControllerJoints:
    """Asks the controller below whose name each arm's commands are published for its joints."""

    def __init__(self, node: Node, arms: Sequence[Arm], topics: Sequence[str], *, required: bool = False) -> None:
        """Ask nothing yet.

        Args:
            node: The node that commands.
            arms: The arms.
            topics: Topics of the arms' commands, one each, with remappings applied.
            required: Whether an order that can't be read is refused.
        """
        self._node, self._required = node, required
        self._expected = [list(arm.robot.joint_names) for arm in arms]
        self._controllers = [topic.rpartition("/")[0] for topic in topics]
        self._clients = [node.create_client(GetParameters, f"{name}/get_parameters") for name in self._controllers]
        self._asked: list[float | None] = [None] * len(self._clients)
        self._joints: list[list[str] | None] = [None] * len(self._clients)

    def look(self) -> None:
        """Ask those that are there, now and then."""
        now = time.monotonic()
        for index, client in enumerate(self._clients):
            asked = self._asked[index]
            if not client.service_is_ready():
                self._asked[index] = self._joints[index] = None
            elif asked is None or now - asked >= ASK_PERIOD:
                self._asked[index] = now
                future = client.call_async(GetParameters.Request(names=["joints"]))
                future.add_done_callback(partial(self._take, index))

    def refusal(self) -> str:
        """Why commands would reach other joints, in one sentence; empty when they would not, as far as is known."""
        self.look()
        known = zip(self._controllers, self._expected, self._joints, self._asked, strict=True)
        for controller, expected, joints, asked in known:
            if joints is None and asked is not None and time.monotonic() - asked < ASK_PERIOD:
                return f"{controller} has not answered yet which joints it has"
            if self._required and not joints:
                return f"the order of the joints of {controller} can't be read: it has no parameter joints"
            if wrong := order_mismatch(controller, joints or expected, expected):
                return wrong
        return ""

    def unread(self) -> str:
        """The controllers whose order of joints is not known, for diagnostics; empty when all are."""
        known = zip(self._controllers, self._joints, strict=True)
        return ", ".join(controller for controller, joints in known if not joints)

    def _take(self, index: int, future: Future) -> None:
        answer = future.result()
        if answer is not None:
            # A node that is none of ros2_control's, such as kuka_fri_relay, has no such parameter: its answer is empty.
            self._joints[index] = list(parameter_value_to_python(answer.values[0]) or []) if answer.values else []


def order_mismatch(controller: str, joints: Sequence[str], expected: Sequence[str]) -> str:
    """Why a controller with these joints does not take commands in the expected order; empty when it does."""
    if list(joints) == list(expected):
        return ""
    return (
        f"{controller} has the joints {', '.join(joints)}, but the commands are in the order {', '.join(expected)}: "
        "put the parameter joints of the controller in this order"
    )
