"""One arm of the simulated plant behind the topics of a real one."""

from __future__ import annotations

import array
from collections.abc import Callable, Sequence

import numpy as np
from builtin_interfaces.msg import Time
from impact_aware_msgs.msg import ImpactPrediction
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from impact_aware.errors import InvalidInputError
from impact_aware.messages.impact_prediction import impact_to_message
from impact_aware.nodes.arm_commands import COMMANDS_TOPIC
from impact_aware.nodes.ros.messages import ROS
from impact_aware.nodes.ros.qos import COMMAND_QOS, LATCHED_QOS, STREAM_QOS, state_qos
from impact_aware.robot.effort_convention import EffortConvention
from impact_aware.simulation import ImpactTruth
from impact_aware.simulation.impact_truth import impact_of_truth
from impact_aware.simulation.sensors import JointReading
from impact_aware.task.arms import Arm

FIELDS = ("position", "velocity", "effort")


class PlantStates:
    """Publishes the readings of some joints on one topic, as a driver of these joints does."""

    def __init__(self, node: Node, topic: str, names: Sequence[str], joints: slice) -> None:
        """Allocate the message; `joints` are those of `names` (n,) in the plant's arrays."""
        self._joints = joints
        self._state = JointState(name=list(names))
        # The arrays stay where they are for the life of the message; NumPy writes into them.
        for field in FIELDS:
            setattr(self._state, field, array.array("d", bytes(8 * len(names))))
        self._arrays = {field: np.frombuffer(getattr(self._state, field)) for field in FIELDS}
        self._publisher = node.create_publisher(JointState, topic, state_qos(reliable=True))

    def publish(self, reading: JointReading, time: Time) -> None:
        """Publish what the sensors show."""
        self._state.header.stamp = time
        self._arrays["position"][:] = reading.q[self._joints]
        self._arrays["velocity"][:] = reading.dq[self._joints]
        self._arrays["effort"][:] = reading.effort[self._joints]
        self._publisher.publish(self._state)


def plant_states(node: Node, arms: Sequence[Arm], joints: Sequence[slice]) -> list[PlantStates]:
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
        publishers.append(PlantStates(node, arms[members[0]].topic("joint_states"), names, together))
    return publishers


class PlantArm:
    """Publishes an arm's truth and description, and keeps its last command.

    Attributes:
        arm: Which one.
        command: (n,) The last usable command, N m, or None.
        command_is_new: Whether it came since `command_is_new` was last set to False.
        rejected: Commands that were not usable.
    """

    def __init__(self, node: Node, arm: Arm, joints: slice, on_command: Callable[[], None]) -> None:
        """Create the topics; `joints` are its own in the plant's arrays, `on_command` is called when one is usable."""
        self.arm = arm
        self.command: NDArray[np.float64] | None = None
        self.command_is_new = False
        self.rejected = 0
        self._convention = EffortConvention([arm.robot])
        self._node = node
        self._joints = joints
        self._on_command = on_command
        self._truth_publisher = node.create_publisher(ImpactPrediction, arm.topic("true_impacts"), STREAM_QOS)
        description = node.create_publisher(String, arm.topic("robot_description"), LATCHED_QOS)
        if arm.robot.profile is not None:
            description.publish(String(data=arm.robot.profile.urdf.read_text()))
        node.create_subscription(Float64MultiArray, arm.topic(COMMANDS_TOPIC), self._receive, COMMAND_QOS)

    def torque(self, positions: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """What the arm makes of its last command at the plant's joint positions, N m; None before there is one."""
        if self.command is None:
            return None
        return self._convention.to_effort(self.command, positions[self._joints])

    def publish_truth(self, truth: ImpactTruth, start_time: float, object_name: str) -> None:
        """Publish an impact of this arm, in the frame of its base; `start_time` is that of the simulation, s."""
        arm = self.arm
        impact = impact_of_truth(
            truth, arm.robot, arm.base, self._joints, arm=arm.name, object_name=object_name, start_time=start_time
        )
        self._truth_publisher.publish(impact_to_message(impact, ROS))

    def _receive(self, message: Float64MultiArray) -> None:
        command = np.array(message.data)
        if command.shape != (self.arm.robot.n,) or not np.isfinite(command).all():
            # What ros2_control's forward controllers do: drop it, keep the last one.
            self.rejected += 1
            self._node.get_logger().warning(
                f"dropped a command with {command.size} values, {np.count_nonzero(~np.isfinite(command))} not finite",
                throttle_duration_sec=2.0,
            )
            return
        self.command, self.command_is_new = command, True
        self._on_command()
