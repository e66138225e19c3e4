"""What an arm did before another one touched, out of the joint states as they came."""

import numpy as np
import pytest
from node_harness import joint_state
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from impact_aware.nodes.joint_state_source import KEPT, RecentStates
from impact_aware.task import load_task
from impact_aware.task.arms import arms_of_task

ARMS = arms_of_task(load_task("dual_arm_grab"), "panda")
NAMES = ARMS[0].robot.joint_names


class Subscribed:
    """A node that notes what is subscribed to."""

    def __init__(self):
        self.topics = {}

    def create_subscription(self, kind, topic, callback, qos, *, raw):
        assert kind is JointState and raw
        self.topics[topic] = callback


@pytest.fixture
def states():
    node = Subscribed()
    return RecentStates(node, ARMS), node.topics


def message(time, value, *, velocity=True, names=NAMES):
    position = [value + 0.1 * k for k in range(len(names))] + [0.04]
    speeds = [10.0 * value - 0.1 * k for k in range(len(names))] + [0.0]
    return serialize_message(joint_state(time, [*names, "finger"], position, speeds if velocity else ()))


def test_it_is_the_last_state_before_the_time_of_the_arm_that_is_asked_for(states):
    recent, topics = states
    assert sorted(topics) == ["left/joint_states", "right/joint_states"]
    for k in range(2 * KEPT):
        topics["right/joint_states"](message(1.0 + 1e-3 * k, 0.01 * k))
    topics["left/joint_states"](message(1.09, 5.0))
    found = recent.before(1, 1.1005)
    assert found.time == pytest.approx(1.1)
    np.testing.assert_allclose(found.q, 1.0 + 0.1 * np.arange(7))
    np.testing.assert_allclose(found.dq, 10.0 - 0.1 * np.arange(7))
    assert recent.before(0, 1.1).q[0] == 5.0
    # A state of the very moment is none before it, and older ones than are kept are forgotten.
    assert recent.before(1, 1.1).time == pytest.approx(1.099)
    assert recent.before(1, 1.0 + 1e-3 * (KEPT - 1)) is None


def test_velocities_that_do_not_come_are_differenced_and_what_cannot_be_read_is_left_out(states):
    recent, topics = states
    left = topics["left/joint_states"]
    left(message(2.000, 0.300, velocity=False))
    assert recent.before(0, 2.5) is None
    left(message(2.001, 0.302, velocity=False))
    left(b"\x00\x01\x00\x00nonsense")
    found = recent.before(0, 2.5)
    np.testing.assert_allclose(found.dq, 2.0, rtol=1e-6)
    left(message(2.002, np.nan))
    assert recent.before(0, 2.5) is None or recent.before(0, 2.5).time == pytest.approx(2.001)


def test_an_arm_of_which_joints_lack_is_not_known(states):
    recent, topics = states
    topics["left/joint_states"](message(2.0, 0.3, names=NAMES[1:]))
    assert recent.before(0, 2.5) is None
    assert recent.before(1, 2.5) is None
