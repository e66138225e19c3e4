"""One arm of the simulated plant behind the topics of a real one."""

from __future__ import annotations

from collections.abc import Sequence

from impact_aware_msgs.msg import ImpactPrediction
from rclpy.node import Node
from std_msgs.msg import String

from impact_aware.errors import InvalidInputError
from impact_aware.messages.impact_prediction import impact_to_message
from impact_aware.nodes.arm_inputs import ArmInput
from impact_aware.nodes.state_publisher import StatePublisher
from impact_aware.resources import read_text
from impact_aware.ros.messages import ROS
from impact_aware.ros.qos import LATCHED_QOS, STREAM_QOS
from impact_aware.simulation import ImpactTruth
from impact_aware.simulation.impact_truth import impact_of_truth
from impact_aware.task.arms import Arm


def plant_states(node: Node, arms: Sequence[Arm], joints: Sequence[slice]) -> list[StatePublisher]:
    """The publishers of the arms' states: one per topic, on which all arms of that topic come in one message.

    Raises:
        InvalidInputError: Arms on one topic whose joints have the same names.
    """
    topics: dict[str, list[int]] = {}
    for index, arm in enumerate(arms):
        topics.setdefault(node.resolve_topic_name(arm.topic("joint_states")), []).append(index)
    publishers = []
    for topic, members in topics.items():
        names = [name for index in members for name in arms[index].robot.joint_names]
        if len(set(names)) < len(names):
            raise InvalidInputError(topic, names, "joints of arms on one topic with names that differ (joint_prefix)")
        # The plant's arms stand in one row.
        together = slice(joints[members[0]].start, joints[members[-1]].stop)
        publishers.append(StatePublisher(node, arms[members[0]].topic("joint_states"), names, together))
    return publishers


class PlantArm:
    """Publishes an arm's truth and description.

    Attributes:
        arm: Which one.
        input: What it is commanded.
    """

    def __init__(self, node: Node, arm: Arm, joints: slice, commands: ArmInput) -> None:
        """Create the topics; `joints` are its own in the plant's arrays."""
        self.arm, self.input = arm, commands
        self._joints = joints
        self._truth_publisher = node.create_publisher(ImpactPrediction, arm.topic("true_impacts"), STREAM_QOS)
        description = node.create_publisher(String, arm.topic("robot_description"), LATCHED_QOS)
        if arm.robot.profile is not None:
            description.publish(String(data=read_text("urdf", arm.robot.profile.urdf)))

    def publish_truth(self, truth: ImpactTruth, start_time: float, object_name: str) -> None:
        """Publish an impact of this arm, in the frame of its base; `start_time` is that of the simulation, s."""
        arm = self.arm
        impact = impact_of_truth(
            truth, arm.robot, arm.base, self._joints, arm=arm.name, object_name=object_name, start_time=start_time
        )
        self._truth_publisher.publish(impact_to_message(impact, ROS))
