"""One field for two arms: which topics of which arm reach it; what it makes of them is in test_live_field.py."""

import numpy as np
import pytest
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from node_harness import joint_state, send, upright

from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.ros.messages import stamp
from impact_aware.task import load_task, start_posture
from impact_aware.task.arms import arms_of_task
from impact_aware.task.last_touch import Touch, predict_last_touch

TASK = load_task("dual_arm_grab")
LEFT, RIGHT = 0, 1
ROBOTS = [arm.robot for arm in arms_of_task(TASK, "panda")]


@pytest.fixture
def node(make):
    return make(ReferenceFieldNode, task="dual_arm_grab")


def posture(node: ReferenceFieldNode, arm: int, shift: float = 0.0) -> np.ndarray:
    """With the tool at its impact place, or beside it along y."""
    place = node.live.field.arms[arm].impact_position + np.array([0.0, shift, 0.0])
    return start_posture(TASK.arms[arm], ROBOTS[arm], place)


def hit(node: ReferenceFieldNode, arm: int, sequence: int = 1, shift: float = 0.0, time: float = 2.0) -> None:
    names = ROBOTS[arm].joint_names
    event = ImpactEvent(arm=TASK.arms[arm].name, sequence=sequence, joint_names=names)
    event.position = reached = posture(node, arm, shift)
    event.velocity_before = approach(node, arm, reached)
    event.header.stamp = stamp(time)
    send(node, f"{TASK.arms[arm].name}/impacts", event)


def approach(node: ReferenceFieldNode, arm: int, position: np.ndarray) -> np.ndarray:
    """Joint velocity that moves the tool as the field wants at the impact; both bases stand parallel to the world."""
    twist = np.concatenate([node.live.field.arms[arm].impact_velocity, np.zeros(3)])
    return np.linalg.pinv(ROBOTS[arm].frame_jacobian(position)) @ twist


def test_a_single_arms_prediction_gives_its_posture_and_not_its_velocity(node):
    before = node.live.field
    jump = ImpactPrediction(source=ImpactPrediction.SOURCE_LOOK_AHEAD, valid=True, has_object=True, object="box")
    jump.joint_names = ROBOTS[RIGHT].joint_names
    jump.position = posture(node, RIGHT) + 0.01
    jump.object_twist_after.linear.y = 0.3
    send(node, "right/predicted_jumps", jump)
    np.testing.assert_array_equal(node.live._postures._postures[RIGHT], jump.position)
    # Within the tolerance for a new revision, 0.01 m/s.
    np.testing.assert_allclose(node.live.field.object_velocity_after, before.object_velocity_after, atol=0.01)


def test_when_both_hit_at_once_the_jump_of_both_is_told(node, sent):
    told = sent(node, "common_jumps")
    hit(node, LEFT, sequence=3, time=2.0)
    assert told == []
    hit(node, RIGHT, sequence=5, time=2.002)
    assert [(jump.arm, jump.event_sequence) for jump in told] == [("left", 3), ("right", 5)]
    speeds = [np.linalg.norm(jump.velocity_after) / np.linalg.norm(jump.velocity_before) for jump in told]
    assert max(speeds) < 0.8, "the arms must lose speed"
    assert told[0].object_twist_after.linear.z > 0.02


def test_a_late_arm_meets_the_object_as_the_first_one_carries_it_by_then(node):
    hit(node, LEFT, time=2.0)
    expected = node.live.field.object_velocity_after
    q, dq = posture(node, LEFT, shift=-0.012), 0.4 * approach(node, LEFT, posture(node, LEFT, shift=-0.012))
    for time, speed in ((2.058, 1.0), (2.0595, 0.4), (2.061, 0.0)):
        send(node, "left/joint_states", joint_state(time, ROBOTS[LEFT].joint_names, q, speed / 0.4 * dq))
    hit(node, RIGHT, time=2.06, shift=-0.012)
    late = posture(node, RIGHT, shift=-0.012)
    touches = [
        Touch(2.0, posture(node, LEFT), approach(node, LEFT, posture(node, LEFT))),
        Touch(2.06, late, approach(node, RIGHT, late)),
    ]
    found = predict_last_touch(TASK, ROBOTS, node.live.field, touches, Touch(2.0595, q, dq))
    np.testing.assert_allclose(node.live.field.object_velocity_after, found.object_velocity, atol=1e-6)
    assert np.linalg.norm(found.object_velocity - expected) > 0.01


def test_each_arm_hears_where_the_object_is_from_its_own_base(node, sent):
    pose = upright([0.5, 0.1, 0.4], "world")
    send(node, "object_pose", pose)
    (left,), (right,) = sent(node, "left/object_pose"), sent(node, "right/object_pose")
    assert (left.pose.position.y, right.pose.position.y) == pytest.approx((-0.25, 0.45))
    assert left.header.frame_id == "panda_link0"
    assert pose.header.frame_id == "world"
    np.testing.assert_allclose(node.live.field.object_position, [0.5, 0.1, 0.4])
