"""Checks before a motion: states arrive at the control rate, commands have a subscriber, all nodes are connected."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial

from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.task import Future

from impact_aware.control.session import NO_FIELD, ControlSession
from impact_aware.detection.input_monitor import InputQuality
from impact_aware.errors import ImpactAwareError
from impact_aware.nodes.arm_commands import ArmCommands
from impact_aware.nodes.joint_state_source import DRIVER, NO_STAMPS, JointStateSource
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.ros.liveness import WATCHDOG, NameClaim, TwinWatch, Upstream, WatchdogLink
from impact_aware.ros.qos_match import mismatches, no_subscriber, silenced, why_silent
from impact_aware.ros.readiness import Readiness
from impact_aware.task.arms import Arm

RATE_TOLERANCE = 0.2
"""Share of the control period by which the time between two states may differ from it."""

WATCHED = ("joint_states", "impacts", "predicted_jumps")
"""Topics of each arm, besides its commands', on which silence would not be detected until it is too late."""

ASK_PERIOD = 2.0
"""Wall time after which a controller's parameters are requested again, s: it may have restarted with others."""


class ArmConnections:
    """Checks a controller's topics when it is configured, and again before it is activated.

    Attributes:
        refused_field: Why the latest reference field is not followed, in one sentence; empty when it is.
    """

    def __init__(
        self,
        node: Node,
        arms: Sequence[Arm],
        session: ControlSession,
        sources: Sequence[JointStateSource],
        commands: ArmCommands,
        readiness: Readiness,
        upstream: Upstream | None = None,
        watchdog: WatchdogLink | None = None,
        *,
        order_required: bool = False,
    ) -> None:
        """Warn of loosened limits, and of topics whose publishers and subscribers DDS can't connect.

        Args:
            node: The controller, with all its subscriptions and publishers.
            arms: Its arms.
            session: Their control.
            sources: Their states.
            commands: Their commands.
            readiness: Whether all nodes of the graph have found each other.
            upstream: Liveness of the nodes that the motion needs; None when it needs none.
            watchdog: Heartbeat of the command watchdog; None when none is required.
            order_required: Whether the order of the joints has to be read back from the arms' controllers.
        """
        self._node = node
        self._arms = tuple(arms)
        self._session = session
        self._sources = tuple(sources)
        self._commands = commands
        self._readiness = readiness
        self._upstream, self._watchdog = upstream, watchdog
        self.refused_field = ""
        self._joints = ControllerJoints(node, self._arms, commands.topics, required=order_required)
        self._twins = TwinWatch(node, "and only one of them can be active")
        self._name = NameClaim(node)
        for arm in arms:
            for looser in SafetyLimits.of(arm.robot).loosened(arm.robot):
                node.get_logger().warning(f"{arm.robot.name} {arm.prefix}".strip() + f" has a loosened limit, {looser}")
        for sentence in mismatches(node):
            node.get_logger().warning(sentence)

    def look(self) -> None:
        """Ask the arms' controllers for their joints, now and then."""
        self._joints.look()

    def values(self) -> dict[str, object]:
        """What could not be checked of how torques reach the arms, for diagnostics."""
        unchecked, unread = self._session.fit.unchecked, self._joints.unread()
        return {key: text for key, text in (("torques_unchecked", unchecked), ("joints_unread", unread)) if text}

    def refuse_field(self, error: ImpactAwareError) -> None:
        """A field can't be followed: no motion may begin by the one before, which is no longer the task's."""
        self.refused_field = f"refused a reference_field: {error}"
        self._node.get_logger().error(self.refused_field, throttle_duration_sec=2.0)

    def refusal(self) -> str:
        """Why the motion must not begin, in one sentence; empty when it may."""
        session = self._session
        refusal = session.refusal()
        silence, arm = session.states.silence()
        if math.isinf(silence) and not session.rest.stopping:
            return f"{refusal}: {why_silent(self._node, self._arms[arm].topic('joint_states'), DRIVER)}"
        if refusal and refusal != NO_FIELD:
            return refusal
        if self.refused_field:
            return self.refused_field
        if refusal:
            return f"{refusal}: {why_silent(self._node, 'reference_field', 'the node reference_field')}"
        return self._out_of_step() or self._out_of_reach() or self._apart()

    def _apart(self) -> str:
        """Nodes of the graph that have not found each other; and a twin, which DDS may still have to find."""
        refusal = self._readiness.refusal()
        if refusal:
            return f"not everybody is there: {refusal}"
        if objection := self._readiness.objection():
            return objection
        if not self._name.held():
            return (
                f"another {self._node.get_fully_qualified_name()} commands on this machine: is the suite running twice?"
            )
        return ""

    def close(self) -> None:
        """Leave the node's name to others."""
        self._name.release()

    def _out_of_step(self) -> str:
        if not all(source.stamped for source in self._sources):
            return NO_STAMPS
        for arm, source in zip(self._arms, self._sources, strict=True):
            if wrong := rate_mismatch(arm.topic("joint_states"), source.quality, self._session.parameters.period):
                return wrong
        return ""

    def _out_of_reach(self) -> str:
        """Report a second publisher of commands, commands without a subscriber, or topics that DDS can't connect."""
        rivals = self._commands.rivals()
        if rivals:
            return f"another node publishes {', '.join(rivals)} too: is the suite running twice?"
        for arm in self._arms:
            for sentence in silenced(self._node, [arm.topic(name) for name in (*WATCHED, self._commands.topic)]):
                return sentence
            # A subscriber that joins later would get a torque computed for an arm that has not moved as assumed.
            if missing := no_subscriber(self._node, arm.topic(self._commands.topic), but=WATCHDOG):
                return f"{missing}: is {self._commands.receiver} loaded?"
        if wrong := self._joints.refusal():
            return wrong
        return next((text for own in (self._upstream, self._watchdog) if own and (text := own.refusal())), "")


def rate_mismatch(topic: str, quality: InputQuality | None, period: float) -> str:
    """Explain in one sentence why the rate of the states differs from the control period, s; empty when it does not.

    Gains, torque rate limits and predictions over one cycle depend on the period. Lost states don't count: the rate is
    that at which the source publishes, known once there is a `quality`.
    """
    if quality is None or not quality.rate > 0.0:
        return ""
    between = (1.0 - quality.missing_share) / quality.rate
    if abs(between - period) <= RATE_TOLERANCE * period:
        return ""
    return (
        f"{topic} comes at {1.0 / between:.0f} Hz, but parameter period is {period:g} s, {1.0 / period:.0f} Hz: "
        f"set it to {between:.2g}, or listen to a topic at the rate of control"
    )


class ControllerJoints:
    """Reads the parameter `joints` of the ros2_control controllers that take the arms' commands.

    A forward controller writes the numbers of a command to its joints in that order, whatever the arm's model has: in
    another order each torque drives another joint.
    """

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
