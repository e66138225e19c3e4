"""The simulated plant keeps the contract of laws."""

import numpy as np
import pytest
from law_contract import LawContract, made, run
from rclpy.node import Node

from impact_aware.messages.local_law import law_to_message
from impact_aware.nodes.arm_inputs import LawInput
from impact_aware.ros.messages import ROS
from impact_aware.simulation.sensors import JointReading
from impact_aware.task.arms import single_arm


class Plant:
    """An arm of `sim_robot`, which takes messages."""

    def __init__(self, node):
        (arm,) = single_arm("", "panda", ())
        self.robot, self._input = arm.robot, LawInput(node, arm, slice(0, 7), lambda: None, 1e-3)
        self._node = node

    def receive(self, law):
        self._input._receive(law_to_message(law, ROS, frame="panda_link0"))

    def torque(self, q, dq, now):
        torque = self._input.torque(q, JointReading(time=now, q=q, dq=dq, effort=q), now)
        # Before its first law the plant holds itself.
        return self.robot.gravity(q) if torque is None else torque


@pytest.fixture
def consumer(ros_context):
    node = Node("plant")
    yield Plant(node)
    node.destroy_node()


class TestPlant(LawContract):
    """Of `sim_robot`."""

    def test_a_law_for_other_joints_is_dropped(self, consumer, robot):
        consumer.receive(made(robot))
        before = run(consumer, 5)[-1]
        names = tuple(f"left_{name}" for name in robot.joint_names)
        consumer.receive(made(robot, joint_names=names, effort=robot.gravity(robot.home) + 5.0, sequence=11))
        np.testing.assert_allclose(run(consumer, 10, 6)[-1], before, atol=0.05)
