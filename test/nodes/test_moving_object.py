"""An object that moves, through the nodes: its velocity reaches the field and the prediction, or why not is said."""


import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from impact_aware_msgs.msg import ImpactEvent
from node_harness import send, upright

from impact_aware.messages.geometry import vector
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.robot import RobotModel
from impact_aware.ros.messages import stamp

ROBOT = RobotModel.from_profile("panda")
PLACE, BELT = np.array([0.5, 0.02, 0.1]), np.array([0.05, -0.12, 0.0])
LONGEST = 20.0


def seen(count: int, frame: str = "panda_link0", stamped: bool = True, belt: np.ndarray = BELT) -> PoseStamped:
    return upright(PLACE + 0.02 * count * belt, frame, 5.0 + 0.02 * count if stamped else 0.0)


@pytest.fixture
def field_node(make):
    return make(ReferenceFieldNode)


def test_the_field_moves_with_the_poses(field_node, sent):
    published = sent(field_node, "reference_field")
    for count in range(20):
        send(field_node, "object_pose", seen(count))
    assert field_node.no_motion() == ""
    field = field_node.live.field
    np.testing.assert_allclose(field.object_velocity, BELT, atol=1e-9)
    np.testing.assert_allclose(vector(published[-1].object_velocity), BELT, atol=1e-3)
    np.testing.assert_allclose(field.advanced(5.6).object_position, PLACE + 0.6 * BELT, atol=1e-9)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"stamped": False}, "the object moves, and its poses have no stamps"),
        ({"belt": 2.0 * BELT}, "the object moves, faster than 0.25 m/s"),
    ],
)
def test_a_motion_that_can_t_be_followed_is_refused(field_node, monkeypatch, how, words):
    clock = iter(np.arange(2000.0, 3000.0, 0.02))
    now = [2000.0]
    monkeypatch.setattr("impact_aware.nodes.object_poses.time.monotonic", lambda: now[0])
    for count in range(20):
        now[0] = next(clock)
        send(field_node, "object_pose", seen(count, **how))
    assert words in field_node.no_motion()
    # Without stamps it is not known when it was where; too fast, only no motion begins.
    assert field_node.live.field.object_moves == how.get("stamped", True)


def test_its_velocity_reaches_the_prediction(make, sent):
    predictor = make(JumpPredictorNode, object_mass=2.2)
    predictions = sent(predictor, "predicted_jumps")
    for count in range(20):
        send(predictor, "object_pose", seen(count))
    event = ImpactEvent(sequence=1, joint_names=ROBOT.joint_names, position=ROBOT.home)
    event.velocity_before = 0.1 * np.ones(7)
    event.header.stamp = event.stamp_detected = stamp(5.5)
    send(predictor, "impacts", event)
    (prediction,) = predictions
    np.testing.assert_allclose(vector(prediction.object_twist_before.linear), BELT, atol=1e-3)
