"""What the arms are commanded, published to each arm's own controller: torques, or laws for the time between two."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import Float64MultiArray

from impact_aware.arrays import Array
from impact_aware.bringup.command_path import COMMAND_TOPICS
from impact_aware.control import ControlSession
from impact_aware.control.local_law import LawSource
from impact_aware.messages.linear_feedback import TYPE as CONTROL_TYPE
from impact_aware.messages.linear_feedback import law_to_control
from impact_aware.messages.local_law import TYPE as LAW_TYPE
from impact_aware.messages.local_law import law_to_message
from impact_aware.nodes.controller_settings import Settings
from impact_aware.ros.messages import ROS, effort_begin, message_class
from impact_aware.ros.qos import COMMAND_QOS
from impact_aware.task.arms import Arm


class ArmCommands:
    """One publisher per arm.

    Attributes:
        topic: Topic of the commands, relative to the arm's namespace.
        receiver: The subscriber that needs them, as a log names it.
    """

    topic: str
    receiver: str

    def __init__(self, node: Node, arms: Sequence[Arm], kind: type) -> None:
        """Create the publishers; nothing is published yet."""
        self._node = node
        self._publishers: list[Publisher] = [
            node.create_publisher(kind, arm.topic(self.topic), COMMAND_QOS) for arm in arms
        ]

    @property
    def topics(self) -> list[str]:
        """Full names of the topics, one per arm."""
        return [publisher.topic_name for publisher in self._publishers]

    def rivals(self) -> list[str]:
        """Command topics that have another publisher too, as far as DDS has discovered."""
        return [topic for topic in self.topics if self._node.count_publishers(topic) > 1]

    def rival_names(self) -> list[str]:
        """Command topics that have another publisher too, each with the names of those nodes."""
        own, found = self._node.get_fully_qualified_name(), []
        for topic in self.rivals():
            offers = self._node.get_publishers_info_by_topic(topic)
            names = [f"{offer.node_namespace.rstrip('/')}/{offer.node_name}" for offer in offers]
            # DDS discovers an endpoint before the name of its node.
            others = [name for name in names if name != own and "_UNKNOWN_" not in name]
            twins = [own] if names.count(own) > 1 else []
            found.append(f"{topic} by {', '.join(others + twins) or 'a node without a name yet'}")
        return found

    def flush(self) -> None:
        """Wait until everybody has the last commands, for up to 0.1 s."""
        for publisher in self._publishers:
            publisher.wait_for_all_acked(Duration(seconds=0.1))

    @property
    def send(self) -> Callable[[Array], None] | None:
        """Takes the torques (n,) of all arms as soon as they are known, N m; None where laws go out instead."""
        return None

    def command(self, session: ControlSession) -> None:
        """Publish what there is to publish of the session's last command."""


class EffortCommands(ArmCommands):
    """Torques; messages are serialized here, which is quicker than to let DDS do it.

    Serialized, a Float64MultiArray is the same begin every time, and then its numbers.
    """

    topic = COMMAND_TOPICS["effort"]
    receiver = "the effort controller"

    def __init__(self, node: Node, arms: Sequence[Arm]) -> None:
        """Create the publishers; nothing is published yet."""
        super().__init__(node, arms, Float64MultiArray)
        self._parts, first = [], 0
        for arm in arms:
            count = arm.robot.n
            self._parts.append((effort_begin(count), slice(first, first + count)))
            first += count

    @property
    def send(self) -> Callable[[Array], None]:
        """Publishes them."""
        return self.publish

    def publish(self, effort: Array) -> None:
        """Publish torques (n,) of all arms, arm after arm, N m."""
        for publisher, (begin, part) in zip(self._publishers, self._parts, strict=True):
            publisher.publish(begin + effort[part].tobytes())


class LawCommands(ArmCommands):
    """Laws, so many per second and one with each change of the mode; see `impact_aware.control.local_law`."""

    topic = COMMAND_TOPICS["local_law"]
    receiver = "the controller that applies laws"
    type = LAW_TYPE
    to_message = staticmethod(law_to_message)

    def __init__(self, node: Node, arms: Sequence[Arm], rate: float, validity: float) -> None:
        """Create the publishers; nothing is published yet.

        Args:
            node: The controller.
            arms: Its arms.
            rate: Rate of the laws, Hz.
            validity: Time for which each law is valid, s.

        Raises:
            InvalidInputError: The package of the messages is not installed.
        """
        super().__init__(node, arms, message_class(self.type))
        self._frames = [arm.robot.base_frame for arm in arms]
        self._settings = rate, validity
        self._source: LawSource | None = None

    def command(self, session: ControlSession) -> None:
        """Publish the laws of the session's last command, where they are due."""
        if self._source is None:
            self._source = LawSource(session, *self._settings)
        laws = self._source.laws()
        for publisher, law, frame in zip(self._publishers, laws, self._frames, strict=False):
            publisher.publish(self.to_message(law, ROS, frame=frame))


class LinearFeedbackCommands(LawCommands):
    """Laws for ros2_control's linear_feedback_controller, which applies the last one without a timeout."""

    topic = COMMAND_TOPICS["linear_feedback"]
    receiver = "linear_feedback_controller"
    type = CONTROL_TYPE
    to_message = staticmethod(law_to_control)


def arm_commands(node: Node, arms: Sequence[Arm], settings: Settings) -> ArmCommands:
    """Create the publishers for the command interface of the settings.

    Raises:
        InvalidInputError: The messages of the interface are not installed.
    """
    kinds = {"local_law": LawCommands, "linear_feedback": LinearFeedbackCommands}
    if settings.command_interface in kinds:
        return kinds[settings.command_interface](node, arms, settings.law_rate, settings.law_validity)
    return EffortCommands(node, arms)
