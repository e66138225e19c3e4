"""One field for two arms: its velocity after the impact is that of both at once, whichever comes first."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import Point, PoseStamped
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from impact_aware_msgs.srv import SetTask
from node_harness import call, send
from sensor_msgs.msg import JointState

from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.nodes.ros.messages import stamp
from impact_aware.task import load_task, start_posture
from impact_aware.task.arms import arms_of_task
from impact_aware.task.grasp import predict_grasp
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


def test_the_common_impact_is_known_from_the_task(node):
    postures = np.concatenate([posture(node, LEFT), posture(node, RIGHT)])
    expected = predict_grasp(TASK, ROBOTS, node.live.field, postures)
    assert node.live.field.object_velocity_predicted
    np.testing.assert_allclose(node.live.field.object_velocity_after, expected, atol=1e-12)
    # Two palms that come from both sides and lift: sideways they cancel.
    assert abs(expected[1]) < 0.01 < expected[2]


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


@pytest.mark.parametrize("first", [LEFT, RIGHT])
def test_either_arm_may_hit_first_and_where_it_did_stays(node, first):
    revision = node.live.field.revision
    hit(node, first, sequence=1, shift=0.01)
    assert node.live.field.revision == revision + 1
    # One tool is 10 mm beside its place, the other where it shall be: their mean is 5 mm beside.
    np.testing.assert_allclose(node.live.field.object_position_at_impact, [0.55, 0.005, 0.4], atol=1e-4)
    hit(node, 1 - first, sequence=1)
    assert node.live.field.revision == revision + 2
    np.testing.assert_allclose(node.live.field.object_position_at_impact, [0.55, 0.005, 0.4], atol=1e-4)
    assert node.live.field.object_velocity_predicted
    hit(node, first, sequence=2)
    assert node.live.field.revision == revision + 2, "a later event of an arm that has hit changes nothing"


def test_when_both_hit_at_once_the_jump_of_both_is_told(node, sent):
    told = sent(node, "common_jumps")
    hit(node, LEFT, sequence=3, time=2.0)
    assert told == []
    hit(node, RIGHT, sequence=5, time=2.002)
    assert [(jump.arm, jump.event_sequence) for jump in told] == [("left", 3), ("right", 5)]
    speeds = [np.linalg.norm(jump.velocity_after) / np.linalg.norm(jump.velocity_before) for jump in told]
    assert max(speeds) < 0.8, "the arms must lose speed"
    assert told[0].object_twist_after.linear.z > 0.02


def test_arms_that_hit_one_after_the_other_have_no_common_jump(node, sent):
    told = sent(node, "common_jumps")
    hit(node, LEFT, time=2.0)
    hit(node, RIGHT, time=2.05)
    assert told == []


def test_a_late_arm_meets_the_object_as_the_first_one_carries_it_by_then(node):
    hit(node, LEFT, time=2.0)
    expected = node.live.field.object_velocity_after
    q, dq = posture(node, LEFT, shift=-0.012), 0.4 * approach(node, LEFT, posture(node, LEFT, shift=-0.012))
    for time, speed in ((2.058, 1.0), (2.0595, 0.4), (2.061, 0.0)):
        state = JointState(name=ROBOTS[LEFT].joint_names, position=q, velocity=speed / 0.4 * dq)
        state.header.stamp = stamp(time)
        send(node, "left/joint_states", state)
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
    pose = PoseStamped()
    pose.header.frame_id = "world"
    pose.pose.position = Point(x=0.5, y=0.1, z=0.4)
    send(node, "object_pose", pose)
    (left,), (right,) = sent(node, "left/object_pose"), sent(node, "right/object_pose")
    assert (left.pose.position.y, right.pose.position.y) == pytest.approx((-0.25, 0.45))
    assert left.header.frame_id == "panda_link0"
    assert pose.header.frame_id == "world"
    np.testing.assert_allclose(node.live.field.object_position, [0.5, 0.1, 0.4])


def test_a_task_for_other_arms_is_refused(node):
    before = node.live.field
    answer = call(node, "set_task", SetTask.Request(task="hit_and_push"))
    assert not answer.success
    assert "a task for left, right" in answer.message
    assert node.live.field is before


def test_mass_and_goal_change_for_both_arms(node):
    request = SetTask.Request(has_object_mass=True, object_mass=1.3, has_goal=True, goal=Point(x=0.55, z=0.5))
    answer = call(node, "set_task", request)
    assert answer.success, answer.message
    assert [arm.arm for arm in answer.field.arms] == ["left", "right"]
    lifting = [arm.feedforward_wrench.force.z for arm in answer.field.arms]
    # Each arm carries half the weight.
    assert lifting == pytest.approx([0.5 * 1.3 * 9.81] * 2)
    assert answer.field.object_velocity_predicted
